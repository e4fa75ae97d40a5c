import { Redis } from 'ioredis';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { eventually, sleep } from '../../../test/support/wait';
import type { Partition } from '../src/queue/task-codec';
import { inventory, listen, openBench, quiet, type Bench } from './support';

const HOUR = 3_600_000;

describe('workers on a server of their own', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let bench: Bench;
  let admin: Redis;
  const ran: string[] = [];

  beforeAll(async () => {
    server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    proxy = await startFaultProxy(server);
    admin = quiet(new Redis(server.port, { retryStrategy: () => 20 }));
  });
  beforeEach(async () => {
    ran.length = 0;
    await admin.flushall();
    // Nobody waits for the end of these leases, not even where a restart takes long.
    bench = await openWorkers(30_000);
  });
  afterEach(async () => {
    proxy.pass();
    await bench.close();
  });
  afterAll(async () => {
    admin.disconnect();
    await proxy.stop();
    await server.stop();
  });

  async function openWorkers(leaseMs: number): Promise<Bench> {
    const client = quiet(new Redis(proxy.port, { retryStrategy: () => 20, maxRetriesPerRequest: null }));
    const options = { leaseMs, concurrency: 20 };
    const opened = await openBench(client, options, { prefix: 'faults', deadlineMs: 1_000 });
    opened.tasks.handle('t', async (_payload, { id }) => {
      await sleep(5);
      ran.push(id);
    });
    return opened;
  }
  const schedule = (prefix: string, count: number, overMs: number) => {
    const tasks = Array.from({ length: count }, (_, i) => ({
      name: 't',
      id: `${prefix}${i}`,
      delayMs: Math.floor((i * overMs) / count),
    }));
    return eventually(() => bench.tasks.scheduleMany(tasks), { timeoutMs: 20_000 });
  };
  const allRan = async (count: number): Promise<void> => {
    await eventually(() => expect(new Set(ran).size).toBe(count), { timeoutMs: 20_000 });
    await eventually(async () =>
      expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: [], problems: [] }),
    );
  };

  it.each<[string, () => Promise<unknown>]>([
    ['SCRIPT FLUSH', () => admin.script('FLUSH')],
    ['connections that are reset', () => Promise.resolve(proxy.cut())],
    ['a lost reply', () => proxy.dropReply({ when: (request) => request.includes('EVALSHA') })],
  ])('go on through %s again and again, and do each task once', async (_title, fault) => {
    bench.work();
    // Longer than all faults take: each fault waits for the next command.
    await schedule('f', 200, 3_000);
    for (let i = 0; i < 15; i++) {
      await fault();
      await sleep(50);
    }
    await allRan(200);
    expect(ran).toHaveLength(200);
  });

  it('run their tasks after Redis was killed and restarted', async () => {
    bench.work();
    await schedule('r', 200, 1_500);
    await sleep(300);
    await server.kill();
    await sleep(500);
    await server.restart();
    await allRan(200);
    expect(ran).toHaveLength(200);
  });

  it('run their tasks after Redis was silent for longer than their leases, and report the failed calls', async () => {
    const errors = listen('callFailed');
    await bench.close();
    bench = await openWorkers(1_500);
    bench.work();
    await schedule('s', 60, 2_500);
    await sleep(300);
    proxy.blackhole();
    await sleep(1_900);
    // A call may have more time than its deadline, because the process does not count the time that it stood still itself.
    await eventually(() => expect(errors.events.map(({ during }) => during)).toContain('take'));
    proxy.pass();
    await allRan(60);
    errors.stop();
  });

  it('repeat a take whose reply is late: each task runs once, in its first attempt', async () => {
    const attempts: number[] = [];
    const client = quiet(new Redis(proxy.port, { retryStrategy: () => 20, maxRetriesPerRequest: null }));
    const patient = { leaseMs: 60_000, namespace: 'patient' };
    const own = await openBench(client, patient, { prefix: 'faults', deadlineMs: 300 });
    own.tasks.handle('t', (_payload, { attempt }) => void attempts.push(attempt));
    const errors = listen('callFailed');
    await own.tasks.scheduleMany(
      Array.from({ length: 40 }, (_, i) => ({ name: 't', id: `late${i}`, delayMs: 200 + i })),
    );
    own.work();
    await sleep(150);
    // What is sent runs; what is answered comes after the deadline.
    proxy.delay(400);
    await eventually(() => expect(errors.events.filter(({ during }) => during === 'take').length).toBeGreaterThan(1));
    proxy.pass();
    await eventually(() => expect(attempts).toHaveLength(40));
    await eventually(async () => expect(await inventory(own)).toEqual({ due: [], leased: [], dead: [], problems: [] }));
    expect(attempts).toEqual(attempts.map(() => 1));
    errors.stop();
    await own.close();
  });

  it('are looked for each second by a user who may not listen', async () => {
    await admin.call('ACL', 'SETUSER', 'deaf', 'on', '>pass', '+@all', '-ssubscribe', '~*', '&*');
    const client = quiet(new Redis({ port: server.port, username: 'deaf', password: 'pass' }));
    const deaf = await openBench(client, {}, { prefix: 'deaf' });
    const errors = listen('callFailed');
    const at: number[] = [];
    deaf.tasks.handle('t', () => void at.push(performance.now()));
    deaf.work();
    await deaf.tasks.schedule('t', null, { delayMs: HOUR });
    await eventually(async () => expect(await deaf.raw.exists(deaf.partitions[0]?.waits ?? '')).toBe(1));
    const asked = performance.now();
    await deaf.tasks.schedule('t', null, { delayMs: 20 });
    await eventually(() => expect(at).toHaveLength(1));
    // A second, and some more for a machine that stands still: without the net it would be an hour.
    expect((at[0] ?? 0) - asked).toBeLessThan(1_000 + 20 + 4_000);
    await eventually(() => expect(errors.events.some(({ during }) => during === 'subscribe')).toBe(true));
    errors.stop();
    await deaf.close();
  });

  it('of a user who may not wake workers are refused, with the reason', async () => {
    await admin.call('ACL', 'SETUSER', 'mute', 'on', '>pass', '+@all', '~*', 'resetchannels');
    const client = quiet(new Redis({ port: server.port, username: 'mute', password: 'pass' }));
    const mute = await openBench(client, {}, { prefix: 'mute' });
    const refused =
      /the Redis user needs permission for SPUBLISH and for the channels of this lib; nothing was changed/;
    await expect(mute.tasks.schedule('t', null)).rejects.toThrow(refused);
    await expect(mute.tasks.scheduleMany([{ name: 't' }, { name: 't' }])).rejects.toThrow(refused);
    expect(await inventory(mute)).toEqual({ due: [], leased: [], dead: [], problems: [] });
    await mute.close();
  });

  it('are taken when they are due, however late the tasks before them are', async () => {
    const slow = await openBench(quiet(new Redis(server.port)), {}, { prefix: 'woken' });
    const late: number[] = [];
    slow.tasks.handle('t', (_payload, { lateMs }) => void late.push(lateMs));
    slow.work();
    await slow.tasks.schedule('t', null, { delayMs: HOUR });
    await eventually(async () => expect(await slow.raw.exists(slow.partitions[0]?.waits ?? '')).toBe(1));
    // The channel of the partition, and that of pauses.
    await eventually(async () => expect(Number((await slow.raw.pubsub('SHARDCHANNELS')).length)).toBe(2));
    await sleep(100);
    for (let i = 0; i < 5; i++) {
      await slow.tasks.schedule('t', null, { delayMs: 30 });
      await eventually(() => expect(late).toHaveLength(i + 1));
    }
    expect(Math.max(...late)).toBeLessThan(20_000);
    await slow.close();
  });

  it('with a full memory, new tasks are refused and existing tasks run', async () => {
    await schedule('o', 20, 300);
    await admin.config('SET', 'maxmemory', '1');
    try {
      await expect(bench.tasks.schedule('t', null)).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' });
      bench.work();
      await allRan(20);
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
  });

  it('the sweep repairs tasks that are incomplete', async () => {
    const [keys] = bench.partitions as [Partition];
    await schedule('h', 6, 0);
    await admin.zrem(keys.due, 'h0');
    await admin.hdel(keys.tasks, 'h1');
    await admin.hset(keys.runs, 'ghost', '1 l x 1 0 0 ');
    await admin.zadd(keys.leased, '1', 'ghost');
    await admin.zadd(keys.dead, '1', 'ancient');
    const swept = await openBench(quiet(new Redis(server.port)), {}, { prefix: 'faults' });
    swept.tasks.handle('t', (_payload, { id }) => void ran.push(id));
    swept.work();
    await swept.sweep();
    await eventually(() => expect(ran.sort()).toEqual(['h0', 'h2', 'h3', 'h4', 'h5']));
    await eventually(async () =>
      expect(await inventory(swept)).toEqual({ due: [], leased: [], dead: [], problems: [] }),
    );
    await swept.close();
  });
});
