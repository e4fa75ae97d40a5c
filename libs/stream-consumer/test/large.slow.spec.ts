import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import { PublishManyError, type PublishMessage, type PublishResult } from 'luanest/stream-consumer';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { openBench, quiet, type Bench } from './support';
import { size } from '../../../test/support/size';

const MANY = size(1_500, 1_000_000);
/** Messages of the test in which Redis stops replying: more than are in flight at one time, before and after. */
const STALLED = size(2_400, 10_000);
const MOST_IN_FLIGHT = 1_024;
const MAX_HEAP_MB = 32;

/** Returns the bytes that are in use: what only waits for the garbage collector is not counted. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

describe('publishMany of very many messages', () => {
  let server: RedisServer;
  let bench: Bench;
  beforeAll(async () => {
    server = await startRedis();
    bench = await openBench(quiet(new Redis(server.port)), { partitions: 3 }, { deadlineMs: 3_000 });
  });
  afterAll(async () => {
    await bench.close();
    await server.stop();
  });

  const lengthOf = async (stream: string): Promise<number> => (await bench.streams.stats(stream, 'g')).length;

  it('publishes all of a generator, in memory that does not grow with their number', async () => {
    let [highest, published, ended] = [0, 0, false];
    async function* messages(): AsyncGenerator<PublishMessage> {
      for (let i = 0; i < MANY; i++) {
        // A source of its own time, such as a cursor: the loop's other work has its turn, too.
        if (i % 10_000 === 0) await nextTurn();
        if (i % (MANY / size(2, 20)) === 0) highest = Math.max(highest, heapInUse());
        yield { payload: { n: i, text: 'x'.repeat(100) }, key: `k${i % 1_000}` };
      }
      ended = true;
    }
    const before = heapInUse();
    const count = await bench.streams.publishMany('large', messages(), ({ status }) => {
      if (status === 'published') published += 1;
    });
    expect([count, published, ended]).toEqual([MANY, MANY, true]);
    expect(await lengthOf('large')).toBe(MANY);
    expect((highest - before) / 2 ** 20).toBeLessThan(MAX_HEAP_MB);
    await bench.raw.flushall();
  }, 900_000);

  it('returns the results of an array in its order', async () => {
    const messages = Array.from({ length: 1_500 }, (_, i) => ({ payload: i, operationId: `o${i}` }));
    const results = await bench.streams.publishMany('array', messages);
    expect(results).toHaveLength(1_500);
    const again = await bench.streams.publishMany('array', messages);
    expect(again).toEqual(results.map((result) => ({ ...result, replayed: true })));
    expect(await bench.streams.publishMany('array', [])).toEqual([]);
  });

  it('takes no further message while Redis does not reply, and says what became of each', async () => {
    let taken = 0;
    let stalled = false;
    function* messages(): Generator<PublishMessage> {
      for (let i = 0; i < STALLED; i++) {
        taken = i + 1;
        if (i === STALLED / 2 && !stalled) {
          stalled = true;
          server.pause();
        }
        yield { payload: i, operationId: `o${i}` };
      }
    }
    const results = new Map<number, PublishResult>();
    const keep = (result: PublishResult, index: number): void => void results.set(index, result);
    try {
      const error = await bench.streams.publishMany('stalled', messages(), keep).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PublishManyError);
      const { started, unknown, unpublished, cause, message } = error as PublishManyError;
      expect(cause).toMatchObject({ code: 'UNKNOWN_OUTCOME' });
      expect(message).toMatch(/^publishMany ended at the message with index \d+: UNKNOWN_OUTCOME: /);
      expect(taken).toBe(started);
      expect(unknown.length + unpublished.length).toBeGreaterThan(0);
      expect(unknown.length + unpublished.length).toBeLessThanOrEqual(MOST_IN_FLIGHT);
      // Each that was begun is in one of the three.
      const all = [...results.keys(), ...unknown, ...unpublished].sort((a, b) => a - b);
      expect(all).toEqual(Array.from({ length: started }, (_, i) => i));
      server.resume();
      const length = await eventually(() => lengthOf('stalled'));
      expect(length).toBeGreaterThanOrEqual(results.size);
      expect(length).toBeLessThanOrEqual(results.size + unknown.length);
    } finally {
      server.resume();
    }
    // The same again: those that were published are known by their operation ids.
    const again = await eventually(() => bench.streams.publishMany('stalled', messages()));
    expect(again).toHaveLength(STALLED);
    for (const [index, result] of results) expect(again[index]).toEqual({ ...result, replayed: true });
    expect(await lengthOf('stalled')).toBe(STALLED);
  }, 60_000);

  it('ends at a message that cannot be one, and at a source or a listener that throws', async () => {
    const messages = Array.from({ length: 5_000 }, (_, payload): PublishMessage => ({ payload }));
    messages[2_000] = { payload: undefined };
    const error = await bench.streams.publishMany('bad', messages).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'PUBLISH_MANY', unpublished: [2_000], unknown: [] });
    const { started, results, cause } = error as PublishManyError;
    expect(cause).toMatchObject({ code: 'INVALID_INPUT' });
    expect(started).toBeLessThanOrEqual(2_000 + MOST_IN_FLIGHT);
    expect(results.filter((result) => result !== undefined)).toHaveLength(started - 1);
    expect(await lengthOf('bad')).toBe(started - 1);

    let closed = false;
    const broken = new Error('the cursor is gone');
    function* source(fails: boolean): Generator<PublishMessage> {
      try {
        for (let payload = 0; payload < 5_000; payload++) {
          if (fails && payload === 10) throw broken;
          yield { payload };
        }
      } finally {
        closed = true;
      }
    }
    await expect(bench.streams.publishMany('source', source(true))).rejects.toMatchObject({
      cause: broken,
      started: 10,
      unknown: [],
      unpublished: [],
    });
    expect(await lengthOf('source')).toBe(10);
    expect(closed).toBe(true);
    closed = false;
    const listener = bench.streams.publishMany('listener', source(false), () => {
      throw broken;
    });
    await expect(listener).rejects.toMatchObject({ cause: broken, unknown: [], unpublished: [] });
    expect(closed).toBe(true);
    expect(await lengthOf('listener')).toBeLessThan(5_000);

    for (const nothing of [undefined, null, 5, 'text', {}] as never[]) {
      await expect(bench.streams.publishMany('bad', nothing)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    await expect(bench.streams.publishMany('bad', [null] as never)).rejects.toMatchObject({ unpublished: [0] });
    await expect(bench.streams.publishMany('bad', [], 5 as never)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  });
});
