import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { ScriptDefinition } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { NO_PERMISSION } from '../../../test/support/client-kind';
import { delayedTaskScripts } from '../src/delayed-task.scripts';
import { broadcastEvents, takeTasks } from '../src/worker/worker.scripts';
import type { Partition } from '../src/queue/task-codec';
import { openBench, quiet, redisNow, takeCall, type Bench } from './support';

const HOUR = 3_600_000;

describe('keys of the wrong type', () => {
  let server: RedisServer;
  let bench: Bench;
  let admin: Redis;
  beforeAll(async () => {
    // One user may not store the number of partitions, which the service logs as a warning.
    Logger.overrideLogger(false);
    server = await startRedis();
    admin = quiet(new Redis(server.port));
    bench = await openBench(quiet(new Redis(server.port)), { work: false }, { prefix: 'faults' });
  });
  beforeEach(() => admin.flushall());
  afterAll(async () => {
    await bench.close();
    admin.disconnect();
    await server.stop();
  });

  // The key of the script `broadcast` is only the name of a channel.
  const scriptsThatUseKeys = delayedTaskScripts.filter((script) => script !== broadcastEvents);
  describe.each(scriptsThatUseKeys.map((script) => [script.name, script as ScriptDefinition] as const))(
    '%s',
    (_name, script) => {
      const values: Record<string, unknown> = {
        conflict: 'replace',
        operationMs: 1_000,
        tasks: ['a', 'd0', '5\n0\n0 1 0 0\nt\n1'],
        token: 'x',
        limit: 5,
        leaseMs: 1_000,
        pairs: ['a', 'x'],
        id: 'a',
        keepMs: 1_000,
        result: '1',
        value: '1',
        delayMs: 1,
        verdict: 'retry',
        error: 'e',
        from: 'all',
        when: 'd1',
        verb: 'drop',
        name: '',
        untilMs: HOUR,
        afterMs: 0,
        afterId: '',
        longestMs: 1_000,
        share: 1_000,
        retentionMs: 1_000,
        taskCursor: '0',
        runCursor: '0',
        count: 10,
        partitions: 1,
        record: '5\n0@g\n0 1 0 0\nt\n1',
        taskId: 'n',
        slotMs: 1,
        nextMs: 2,
        most: 9,
        windowMs: 9,
        groupMost: 3,
        groupStarts: 3,
        groupWindowMs: 9,
        ended: ['g\nold'],
        group: 'g',
        action: script.name.endsWith('group-pause') ? 'resume' : 'read',
      };

      it.each(script.keys)('a %s of the wrong type: an error, and nothing is changed', async (wrong) => {
        const [keys] = bench.partitions as [Partition];
        const names: Record<string, string> = {
          ...(keys as unknown as Record<string, string>),
          operation: keys.operation('o'),
          result: keys.result('a'),
          progress: keys.progress('a'),
          taken: keys.taken('w'),
          layout: 'faults:layout',
          paused: 'faults:paused',
        };
        // The task is leased, so that every script has something to do.
        await bench.tasks.schedule('t', null, {
          id: 'a',
          group: 'g',
          delayMs: script.name.endsWith('take') ? 0 : HOUR,
        });
        if (!/take|cancel|reschedule|schedule/.test(script.name)) {
          await admin.zrem(keys.due, 'a');
          await admin.zadd(keys.leased, String((await redisNow(admin)) + HOUR), 'a');
          await admin.hset(keys.runs, 'a', '1 l x 1 0 0 ');
        }
        const place = names[wrong] as string;
        await admin.del(place);
        if (['waits', 'operation', 'result', 'progress', 'taken', 'layout', 'paused', 'starts'].includes(wrong))
          await admin.rpush(place, 'x');
        else await admin.set(place, 'x');
        const dump = async (): Promise<string[]> => {
          const all = (await admin.keys('*')).sort();
          return Promise.all(all.map(async (key) => `${key} ${(await admin.dumpBuffer(key))?.toString('latin1')}`));
        };
        const before = await dump();
        const args = Object.fromEntries(Object.keys(script.args as object).map((name) => [name, values[name]]));
        // An id that exists is left to another script.
        if (script.name.endsWith('schedule-one')) args['id'] = 'new';
        const asked = Object.fromEntries(script.keys.map((name) => [name, names[name]]));
        const call = bench.registry.run(script, { keys: asked, args } as never);
        // The mark in `waits` is not state, so a value of another type is replaced. For some its key is only a channel.
        if (wrong === 'waits' && /take|sweep|cancel|acknowledge|complete/.test(script.name)) {
          await call;
          return;
        }
        // What only reads need not look at every key.
        if (script.flags.includes('no-writes')) await call.catch(() => undefined);
        else await expect(call).rejects.toMatchObject({ code: 'SCRIPT_FAILED' });
        expect(await dump()).toEqual(before);
      });
    },
  );

  it.each(['zadd', 'zrem', 'zremrangebyrank', 'hset', 'hdel', 'set'])(
    'without the permission for %s: an error, and nothing is changed',
    async (denied) => {
      await admin.call('ACL', 'SETUSER', 'partly', 'reset', 'on', '>pass', '+@all', `-${denied}`, '~*', '&*');
      const client = quiet(new Redis({ port: server.port, username: 'partly', password: 'pass' }));
      const partly = await openBench(client, { work: false }, { prefix: 'faults' });
      await bench.tasks.scheduleMany([
        { name: 't', id: 'a' },
        { name: 't', id: 'b', delayMs: HOUR },
      ]);
      const [keys] = bench.partitions as [Partition];
      const dump = (): Promise<(Buffer | null)[]> =>
        Promise.all([keys.due, keys.leased, keys.tasks, keys.runs, keys.dead].map((key) => admin.dumpBuffer(key)));
      const before = await dump();
      const take = partly.registry.run(takeTasks, takeCall(keys, 'w', { token: 'x', limit: 5, leaseMs: HOUR }));
      const failed = { code: 'SCRIPT_FAILED', message: expect.stringContaining('NOTALLOWED') as string };
      await expect(take).rejects.toMatchObject(failed);
      if (['hset', 'set'].includes(denied)) {
        await expect(partly.tasks.schedule('t', null, { id: 'c' })).rejects.toMatchObject(failed);
      } else if (denied === 'zadd') {
        const refused = { code: 'SCRIPT_FAILED', message: expect.stringMatching(NO_PERMISSION) as string };
        await expect(partly.tasks.schedule('t', null, { id: 'c' })).rejects.toMatchObject(refused);
      }
      const two = ['c', 'd'].map((id) => ({ name: 't', id }));
      await expect(partly.tasks.scheduleMany(two)).rejects.toMatchObject(failed);
      await expect(partly.tasks.schedule('t', null, { id: 'a', onConflict: 'replace' })).rejects.toMatchObject(failed);
      await expect(partly.tasks.cancel('b')).rejects.toMatchObject(failed);
      await expect(partly.tasks.reschedule('b', { delayMs: 1 })).rejects.toMatchObject(failed);
      expect(await dump()).toEqual(before);
      await partly.close();
    },
  );
});
