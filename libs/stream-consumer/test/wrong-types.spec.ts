import { Redis } from 'ioredis';
import type { ScriptDefinition } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { streamConsumerScripts } from '../src/stream-consumer.scripts';
import { Hands } from './hands';
import { openBench, quiet, type Bench } from './support';

/** Keys that a script replaces or deletes whatever they hold. */
const REPLACED = new Set([
  'publish woken',
  'take woken',
  'take-ordered woken',
  'take-foreign woken',
  'take-foreign-ordered woken',
  'retry woken',
  'replay-dead woken',
  'replay-range woken',
  ...['sessions', 'takes', 'due', 'tries', 'heads', 'unsettled'].flatMap((key) => [
    `open ${key}`,
    `remove-group ${key}`,
  ]),
  'remove-group dead',
]);

const cases = streamConsumerScripts.flatMap((script) =>
  (script as ScriptDefinition).keys.map(
    (key) => [script.name.replace('stream-consumer.', ''), key, script as ScriptDefinition] as const,
  ),
);

describe('a key of another type', () => {
  let server: RedisServer;
  let bench: Bench;
  beforeAll(async () => {
    server = await startRedis();
    bench = await openBench(quiet(new Redis(server.port)));
  });
  beforeEach(() => bench.raw.flushdb());
  afterAll(async () => {
    await bench.close();
    await server.stop();
  });

  /** A group in the middle of its work: entries in work, parked, due, dead, and of a session that is over. */
  async function prepare(): Promise<{ args: Record<string, unknown>; keys: Record<string, string | string[]> }> {
    const hands = new Hands(bench, 's', 'g', true);
    await hands.publish(3, 'k');
    await hands.publish(6);
    await hands.open();
    const { entries } = await hands.take('one', 't0', 4);
    await hands.retry('one', entries[1] as never, 0);
    await hands.finish('one', entries.slice(2, 3), 'broken');
    await hands.take('gone', 't0', 1);
    await hands.expire('gone');
    const [first] = await bench.raw.xrange(hands.keys.dead, '-', '+');
    const id = entries[0]?.id ?? '';
    const numbers = {
      count: 5,
      leaseMs: 9,
      begins: 0,
      maxKeys: 9,
      retainMs: 9_000,
      maxLength: 0,
      makes: 1,
      atEnd: 0,
      passed: 0,
      size: 5,
      limit: 5,
      most: 5,
      bytes: -1,
      ageMs: -1,
    };
    const texts = { group: 'g', session: 'one', token: 't1', problem: 'p', name: '', payload: '1', key: 'k' };
    const more = {
      action: 'pause',
      paused: 0,
      attempt: 1,
      returned: 0,
      counted: 1,
      firstSeenMs: 1,
      delayMs: 0,
      partitions: 2,
      id,
    };
    const cursors = {
      from: '0',
      needs: 'h',
      pending: '0-0',
      waiting: '-',
      parked: '',
      unsettled: '0',
      taken: 0,
      held: [],
      triesAfter: '0',
      headsAfter: '0',
    };
    const operation = hands.keys.stream.replace(/stream$/, 'operation:o');
    const config = hands.keys.stream.replace(/stream$/, 'config');
    return {
      args: {
        ...numbers,
        ...texts,
        ...more,
        after: '-',
        ids: [id],
        rows: [id, 'k', 'p', '1', '1'],
        dead: first?.[0],
        ...cursors,
      },
      keys: { ...hands.keys, operation, config, needed: [bench.keys('s', 'h').unsettled] },
    };
  }

  async function everything(): Promise<Map<string, unknown>> {
    const keys = (await bench.raw.keys('*')).sort();
    return new Map(await Promise.all(keys.map(async (key) => [key, await bench.raw.dumpBuffer(key)] as const)));
  }

  it.each(cases)('%s finds %s: it says so and changes nothing, or does without', async (name, key, script) => {
    const { args, keys } = await prepare();
    const place = [keys[key.replace('[]', '')]].flat()[0] as string;
    await bench.raw.del(place);
    if (key === 'operation') await bench.raw.rpush(place, 'x');
    else await bench.raw.set(place, 'x');
    if (name.startsWith('list-dead')) Object.assign(args, { after: '0', until: '+' });
    if (name === 'replay-range') Object.assign(args, { after: '0-0', until: '9999999999999-0' });
    if (name === 'drop-dead' || name === 'replay-dead') Object.assign(args, { ids: [args.dead] });
    const wanted = Object.keys(script.args as object);
    const input = { keys, args: Object.fromEntries(wanted.map((arg) => [arg, args[arg]])) };
    const before = await everything();
    const outcome = await bench.registry.run(script, input as never).then(
      () => 'ran',
      (error: { code?: string }) => error.code,
    );
    if (REPLACED.has(`${name} ${key}`)) {
      expect(outcome).toBe('ran');
      return;
    }
    if (outcome === 'ran') {
      const others = ['list-consumers stream', 'list-consumers woken', 'find-message dead'];
      expect(['leave stream', 'leave woken', 'drop-dead woken', 'stats stream', ...others]).toContain(`${name} ${key}`);
      return;
    }
    expect(outcome).toBe('SCRIPT_FAILED');
    expect(await everything()).toEqual(before);
  });

  it('a group that may not be destroyed keeps its dead letters and its other keys', async () => {
    await prepare();
    await bench.raw.call('ACL', 'SETUSER', 'partly', 'reset', 'on', '>pass', '+@all', '-xgroup|destroy', '~*', '&*');
    const client = quiet(new Redis({ port: server.port, username: 'partly', password: 'pass' }));
    const partly = await openBench(client, {}, { prefix: bench.prefix });
    const before = await everything();
    await expect(new Hands(partly, 's', 'g', true).remove()).rejects.toMatchObject({ code: 'SCRIPT_FAILED' });
    expect(await everything()).toEqual(before);
    await partly.close();
  });
});
