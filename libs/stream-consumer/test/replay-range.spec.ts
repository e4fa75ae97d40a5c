import { InvalidInputError } from 'luanest/script-registry';
import {
  defineStream,
  type StreamConsumerService,
  type StreamDefinition,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { replayRange } from '../src/streams/streams.scripts';
import { openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('a replay of a range, on %s', (_, client) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(client(), { watchEveryMs: 50 });
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => bench.close());

  const define = (name: string, more: object = {}): StreamDefinition<number> =>
    defineStream({ name, retain: { count: 10_000 }, ...more });
  const numbers = (from: number, to: number, keys = 5) =>
    Array.from({ length: to - from }, (__, i) => ({ payload: from + i, key: `k${i % keys}` }));
  const expected = (from: number, to: number) => numbers(from, to).map(({ payload }) => payload);
  const sorted = (seen: readonly number[]) => [...seen].sort((a, b) => a - b);

  /** Starts a group that notes what it gets. */
  async function consume(
    stream: StreamDefinition<number>,
    group = 'g',
    ordered = false,
  ): Promise<StreamMessage<number>[]> {
    const seen: StreamMessage<number>[] = [];
    await bench.streams.handle({ stream, group, ordered }, (message) => void seen.push(message));
    return seen;
  }
  /** Publishes numbers and waits until all groups have settled them. */
  async function publish(
    stream: StreamDefinition<number>,
    from: number,
    to: number,
    ...groups: string[]
  ): Promise<void> {
    await bench.streams.publishMany(stream, numbers(from, to));
    await settled(stream, ...groups);
  }
  const settled = async (stream: StreamDefinition<number>, ...groups: string[]) => {
    for (const group of ['g', ...groups]) {
      await eventually(async () =>
        expect(await bench.streams.stats(stream, group)).toMatchObject({ lag: 0, pending: 0 }),
      );
    }
  };

  it('delivers what is kept again, to this group alone, in order, as new messages with attempt 1', async () => {
    const stream = define('all', { partitions: 3 });
    const seen = await consume(stream, 'g', true);
    const others = await consume(stream, 'other');
    await publish(stream, 0, 350, 'other');
    const firsts = seen.splice(0);
    expect(await bench.streams.replayRange(stream, 'g', { fromAtMs: 0 })).toBe(350);
    await eventually(() => expect(seen).toHaveLength(350));
    await settled(stream, 'other');
    expect(others).toHaveLength(350);
    expect(sorted(seen.map(({ payload }) => payload))).toEqual(expected(0, 350));
    for (const key of ['k0', 'k1', 'k2', 'k3', 'k4']) {
      const ofKey = seen.filter((message) => message.key === key).map(({ payload }) => payload);
      expect(ofKey).toEqual(sorted(ofKey));
    }
    const ids = new Set(firsts.map(({ id }) => id));
    expect(seen.every(({ id, attempt, group }) => !ids.has(id) && attempt === 1 && group === 'g')).toBe(true);
    // Copies are not copied again.
    expect(await bench.streams.replayRange(stream, 'g', { fromAtMs: 0 })).toBe(350);
    await eventually(() => expect(seen).toHaveLength(700));
    await sleep(100);
    expect(seen).toHaveLength(700);
  });

  it('keeps to its times, by ms and by Date, and to its limit', async () => {
    const stream = define('times', { partitions: 2 });
    const seen = await consume(stream);
    await publish(stream, 0, 20);
    const middle = Math.max(...seen.map(({ id }) => Number(/:(\d+)-/.exec(id)?.[1]))) + 1;
    await sleep(20);
    await publish(stream, 20, 50);
    seen.length = 0;
    const replay = async (range: Parameters<StreamConsumerService['replayRange']>[2]): Promise<number[]> => {
      const count = await bench.streams.replayRange(stream, 'g', range);
      await settled(stream);
      await eventually(() => expect(seen).toHaveLength(count));
      return sorted(seen.splice(0).map(({ payload }) => payload));
    };
    expect(await replay({ fromAtMs: 0, beforeAtMs: middle })).toEqual(expected(0, 20));
    expect(await replay({ fromAtMs: middle })).toEqual(expected(20, 50));
    expect(await replay({ fromAtMs: middle, beforeAtMs: middle + 1e9 })).toEqual(expected(20, 50));
    expect(await replay({ fromAtMs: middle + 1e9 })).toEqual([]);
    expect(await replay({ fromAtMs: 0, limit: 7 })).toHaveLength(7);
    expect(await replay({ fromAtMs: 0, limit: 45 })).toHaveLength(45);
    expect(await replay({ fromAtMs: 0, limit: 1_000 })).toEqual(expected(0, 50));
  });

  it('leaves out what the group has not settled, which it gets anyway', async () => {
    const stream = define('unsettled');
    const gate = new Gate();
    const seen: number[] = [];
    await bench.streams.handle({ stream, group: 'g', concurrency: 2 }, async ({ payload }) => {
      if (payload === 3 || payload === 5) await gate.pass();
      seen.push(payload);
    });
    await bench.streams.publishMany(stream, numbers(0, 10));
    await eventually(() => expect(gate.entered).toBe(2));
    await eventually(async () => expect(await bench.streams.stats(stream, 'g')).toMatchObject({ pending: 2 }));
    expect(await bench.streams.replayRange(stream, 'g', { fromAtMs: 0 })).toBe(4);
    gate.open();
    await settled(stream);
    expect(sorted(seen)).toEqual([0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9]);
  });

  it('with an operation id, a repeated call continues after a failure and replays nothing twice', async () => {
    const stream = define('operation', { partitions: 2 });
    const seen = await consume(stream);
    await consume(stream, 'other');
    await publish(stream, 0, 500, 'other');
    seen.length = 0;
    const { registry } = bench;
    const run = registry.run.bind(registry);
    let calls = 0;
    // The third step has its effect, but its reply is lost; later steps are not sent.
    jest.spyOn(registry, 'run').mockImplementation(async (script, ...rest) => {
      if ((script as unknown) !== replayRange) return run(script, ...rest);
      calls += 1;
      if (calls > 3) throw new Error('the connection is lost');
      const reply = await run(script, ...rest);
      if (calls === 3) throw new Error('the reply is lost');
      return reply;
    });
    const range = { fromAtMs: 0, operationId: 'Ünïcode {1} of g' };
    await expect(bench.streams.replayRange(stream, 'g', range)).rejects.toThrow('the reply is lost');
    await eventually(() => expect(seen).toHaveLength(300));
    jest.restoreAllMocks();
    expect(await bench.streams.replayRange(stream, 'g', range)).toBe(500);
    expect(await bench.streams.replayRange(stream, 'g', range)).toBe(500);
    await settled(stream);
    expect(sorted(seen.map(({ payload }) => payload))).toEqual(expected(0, 500));
    // The id belongs to the group.
    expect(await bench.streams.replayRange(stream, 'other', range)).toBe(500);
    // Two calls at the same time share the steps.
    const both = await Promise.all(
      [1, 2].map(() => bench.streams.replayRange(stream, 'g', { fromAtMs: 0, operationId: 'both' })),
    );
    expect(both).toEqual([500, 500]);
    await eventually(() => expect(seen).toHaveLength(1_000));
    await settled(stream);
    expect(seen).toHaveLength(1_000);
  });

  it('works without `retain` on what other groups still need, and on entries of other programs', async () => {
    const stream = defineStream<number>({ name: 'plain' });
    const seen = await consume(stream);
    const idle = await bench.streams.handle({ stream, group: 'idle' }, () => undefined);
    await bench.streams.pause(stream, 'idle');
    await sleep(200);
    await bench.streams.publishMany(stream, numbers(0, 5));
    await settled(stream);
    expect(await bench.streams.replayRange(stream, 'g', { fromAtMs: 0 })).toBe(5);
    await eventually(() => expect(seen).toHaveLength(10));
    await bench.streams.resume(stream, 'idle');
    await eventually(async () => expect(await bench.streams.stats(stream, 'idle')).toMatchObject({ length: 0 }));
    expect(await bench.streams.replayRange(stream, 'g', { fromAtMs: 0 })).toBe(0);
    await idle.stop();

    const key = `${bench.prefix}-foreign`;
    const foreign = defineStream({ name: 'foreign', keys: [key] });
    const fields = Array.from({ length: 460 }, (__, i) => [`f${i}`, `v${i}`]).flat();
    await bench.raw.xadd(key, '*', 'key', 'k', 'n', Buffer.from('ff00', 'hex'));
    await bench.raw.xadd(key, '*', ...fields);
    const messages: StreamMessage[] = [];
    await bench.streams.handle({ stream: foreign, group: 'g', pollMs: 20 }, (message) => void messages.push(message));
    await eventually(async () => expect(await bench.streams.stats(foreign, 'g')).toMatchObject({ lag: 0, pending: 0 }));
    expect(messages).toHaveLength(2);
    expect(await bench.streams.replayRange(foreign, 'g', { fromAtMs: 0 })).toBe(2);
    await eventually(() => expect(messages).toHaveLength(4));
    expect(messages[2]?.fields?.get('n')).toEqual(Buffer.from('ff00', 'hex'));
    expect(messages[2]?.key).toBe('k');
    expect(messages[3]?.payload).toEqual(messages[1]?.payload);
  });

  it.each([
    [{}, /range\.fromAtMs is undefined\. Expected an integer from 0 to 999999999999999 \(ms since 1970\)\./],
    [{ fromAtMs: -1 }, /range\.fromAtMs is -1\./],
    [{ fromAtMs: 1.5 }, /range\.fromAtMs is 1\.5\./],
    [{ fromAtMs: '2026-01-01' }, /range\.fromAtMs is "2026-01-01"\./],
    [{ fromAtMs: new Date('never') }, /range\.fromAtMs is/],
    [{ fromAtMs: 5, beforeAtMs: 5 }, /range\.beforeAtMs is not later than range\.fromAtMs/],
    [{ fromAtMs: 5, beforeAtMs: NaN }, /range\.beforeAtMs is NaN\./],
    [{ fromAtMs: 5, limit: 0 }, /range\.limit is 0\. Expected an integer from 1/],
    [{ fromAtMs: 5, operationId: '' }, /range\.operationId is ""/],
    [{ from: 5 }, /There is no option "from" in range\. Known: fromAtMs, beforeAtMs, limit, operationId\./],
    [undefined, /range is undefined\. Expected an object\./],
  ])('refuses the range %j before anything is sent', async (range, message) => {
    const run = jest.spyOn(bench.registry, 'run');
    const replaying = bench.streams.replayRange('bad', 'g', range as never);
    await expect(replaying).rejects.toThrow(InvalidInputError);
    await expect(replaying).rejects.toThrow(message);
    await expect(bench.streams.replayRange('bad', 'a group', { fromAtMs: 0 })).rejects.toThrow(/group is "a group"\./);
    expect(run).not.toHaveBeenCalled();
  });

  it('refuses a group that the stream does not have', async () => {
    const stream = define('groups');
    await consume(stream);
    await publish(stream, 0, 3);
    const replaying = bench.streams.replayRange(stream, 'nobody', { fromAtMs: 0 });
    await expect(replaying).rejects.toThrow(InvalidInputError);
    await expect(replaying).rejects.toThrow('Stream groups has no group nobody, so nothing was replayed.');
    expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 3 });
  });
});
