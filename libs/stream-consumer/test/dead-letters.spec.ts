import { InvalidInputError } from 'luanest/script-registry';
import { defineStream, type StreamConsumerHandle } from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { openBench, type Bench } from './support';

interface Order {
  readonly n: number;
}

const orders = defineStream<Order>({ name: 'orders', partitions: 3 });

describe('all dead letters of a group', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(standaloneClient());
  });
  afterEach(() => bench.close());

  const dead = async (): Promise<number> => (await bench.streams.stats(orders, 'g')).dead;

  /** Starts a consumer that fails every message at its first attempt. */
  const failing = (): Promise<StreamConsumerHandle> =>
    bench.streams.handle({ stream: orders, group: 'g', attempts: 1 }, () => {
      throw new Error('broken');
    });

  const publish = (from: number, to: number): Promise<unknown> =>
    bench.streams.publishMany(
      orders,
      Array.from({ length: to - from }, (_, i) => ({ payload: { n: from + i } })),
    );

  it('are replayed once each in steps of 100, although they are dead-lettered again meanwhile', async () => {
    const handle = await failing();
    await publish(0, 750);
    await eventually(async () => expect(await dead()).toBe(750));
    expect(await bench.streams.replayAll(orders, 'g')).toBe(750);
    await eventually(async () =>
      expect(await bench.streams.stats(orders, 'g')).toMatchObject({ dead: 750, length: 0 }),
    );
    await handle.stop();
    expect(await bench.streams.replayAll(orders, 'g')).toBe(750);
    expect(await bench.streams.stats(orders, 'g')).toMatchObject({ dead: 0, length: 750 });
    expect(await bench.streams.dropAll(orders, 'g')).toBe(0);
  });

  it('are limited by the times of a filter, of which the second is exclusive', async () => {
    const handle = await failing();
    await publish(0, 20);
    await eventually(async () => expect(await dead()).toBe(20));
    const first = (await bench.streams.deadLetters(orders, 'g')).items.map(({ deadAtMs }) => deadAtMs);
    await eventually(async () =>
      expect(Number((await bench.raw.time())[0]) * 1_000).toBeGreaterThan(Math.max(...first)),
    );
    await publish(20, 50);
    await eventually(async () => expect(await dead()).toBe(50));
    await handle.stop();
    const borderMs = Math.max(...first) + 1;
    expect(await bench.streams.dropAll(orders, 'g', { diedBeforeAtMs: Math.min(...first) })).toBe(0);
    expect(await bench.streams.dropAll(orders, 'g', { diedFromAtMs: borderMs, diedBeforeAtMs: borderMs })).toBe(0);
    expect(await bench.streams.dropAll(orders, 'g', { diedBeforeAtMs: borderMs })).toBe(20);
    expect(await bench.streams.replayAll(orders, 'g', { diedFromAtMs: borderMs })).toBe(30);
    expect(await dead()).toBe(0);
  });

  it.each([
    [{ from: 1 }, 'There is no option "from" in filter. Known: diedFromAtMs, diedBeforeAtMs.'],
    [{ diedFromAtMs: -1 }, 'filter.diedFromAtMs is -1. Expected an integer from 0 to 999999999999999 (ms since 1970).'],
    [
      { diedBeforeAtMs: new Date(0) },
      'filter.diedBeforeAtMs is Date 0. Expected an integer from 0 to 999999999999999 (ms since 1970).',
    ],
  ])('refuse the filter %j before anything is sent', async (filter, message) => {
    const refusal = new InvalidInputError(`StreamConsumerService: ${message}`);
    await expect(bench.streams.replayAll(orders, 'g', filter as never)).rejects.toThrow(refusal);
    await expect(bench.streams.dropAll(orders, 'g', filter as never)).rejects.toThrow(refusal);
  });
});

describe('a stream as a value', () => {
  it('has its own options in every call, and refuses others for its name', async () => {
    const bench = await openBench(standaloneClient());
    const small = defineStream<Order>({ name: 'small', maxLength: 1 });
    expect(await bench.streams.publish(small, { n: 1 })).toMatchObject({ status: 'published' });
    expect(await bench.streams.publish('small', { n: 2 })).toEqual({ status: 'full', length: 1 });
    expect(await bench.streams.publish(defineStream({ name: 'small', maxLength: 1 }), 3)).toMatchObject({
      status: 'full',
    });
    expect(await bench.streams.publish(defineStream({ name: 'small' }), 4)).toMatchObject({ status: 'full' });
    const other = bench.streams.publish(defineStream({ name: 'small', maxLength: 2 }), 5);
    await expect(other).rejects.toThrow(
      /^defineStream: Stream small was used before in this process with other options/,
    );
    const seen: number[] = [];
    const handle = await bench.streams.handle(
      { stream: small, group: 'g' },
      ({ payload }) => void seen.push(payload.n),
    );
    await eventually(() => expect(seen).toEqual([1]));
    expect(() => bench.streams.forgetStream(small)).toThrow(
      /^StreamConsumerService.forgetStream: The stream was not forgotten, because consumers of this process read stream small, for example in group g/,
    );
    await handle.stop();
    bench.streams.forgetStream(small);
    expect(await bench.streams.publish(defineStream({ name: 'small', maxLength: 5 }), { n: 6 })).toMatchObject({
      status: 'published',
    });
    await bench.close();
  });

  it('is refused without a valid name, or with an invalid option', () => {
    expect(() => defineStream({ name: 'a b' })).toThrow('defineStream: name is "a b". Expected 1 to 100 letters');
    expect(() => defineStream({ name: 'a', partitions: 0 })).toThrow(
      'defineStream: partitions is 0. Expected an integer',
    );
    expect(() => defineStream(undefined as never)).toThrow(/^defineStream: The options are undefined/);
  });
});
