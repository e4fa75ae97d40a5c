import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { closeBucket } from '../src/activity/activity.scripts';
import { figures, openBench, ownKeys, packetOf, payAll, type Bench } from './support';

/** An activity, and a later one with the same id. A call that began in the first one goes on in the second one. */
describe('a call that is so late that its activity has expired, and another one has its id', () => {
  let bench: Bench;
  let other: Bench;
  beforeEach(async () => {
    bench = await openBench(standaloneClient());
    other = await openBench(standaloneClient(), { prefix: bench.prefix });
  });
  afterEach(() => [bench, other].forEach((each) => each.close()));

  /** Calls `work` before the first call of a script by `bench`. */
  function before(script: string, work: () => Promise<unknown>): jest.Mock {
    const run = bench.registry.run.bind(bench.registry);
    const called = jest.fn(work);
    jest.spyOn(bench.registry, 'run').mockImplementation(async (definition, ...rest) => {
      if (definition.name === script && called.mock.calls.length === 0) await called();
      return run(definition, ...rest);
    });
    return called;
  }

  /** Lets the activity expire, and creates another one with its id. */
  async function nextLife(packets: number, buckets: number): Promise<void> {
    const earlier = await other.packets.status('a');
    const keys = [bench.keysOf('a'), ...bench.bucketsOf('a', buckets)].flatMap((each) => Object.values(ownKeys(each)));
    // One by one, because of the slots of a Cluster.
    for (const key of keys) await bench.raw.del(key);
    await eventually(async () => {
      await other.packets.create({ ...figures('a', packets), buckets });
      expect((await other.packets.status('a'))?.expiresAtMs).not.toBe(earlier?.expiresAtMs);
    });
  }

  async function hasNoTtl(buckets: number): Promise<void> {
    for (const { meta } of [bench.keysOf('a'), ...bench.bucketsOf('a', buckets)]) {
      expect(await bench.raw.pttl(meta)).toBe(-1);
    }
    expect(await other.packets.status('a')).toMatchObject({ settled: false });
  }

  const settledMark = () => bench.raw.zscore(`${bench.prefix}:red-packet:{activities}:settled`, 'a');

  it.each([1, 2])('settle() of an id that is created meanwhile, with %i buckets, gives it no TTL', async (buckets) => {
    const called = before('red-packet.fix-partitions', () => other.packets.create({ ...figures('a', 4), buckets }));
    await bench.packets.settle('a');
    expect(called).toHaveBeenCalledTimes(1);
    await hasNoTtl(buckets);
  });

  it.each([1, 2])('forget() gives a later activity with %i buckets no TTL, and keeps its payouts', async (buckets) => {
    await bench.packets.create({ ...figures('a', 4), buckets });
    packetOf(await bench.packets.grab('a', 'u'));
    await bench.packets.close('a');
    const called = before('red-packet.settle-bucket', async () => {
      await nextLife(5, buckets);
      packetOf(await other.packets.grab('a', 'v'));
      await other.packets.close('a');
    });
    expect(await bench.packets.forget('a')).toBe(false);
    expect(called).toHaveBeenCalledTimes(1);
    await hasNoTtl(buckets);
    expect(await other.packets.status('a')).toMatchObject({ openPayouts: 1, refundedPackets: 4 });
    expect(await payAll(other, 'a')).toMatchObject([{ userId: 'v' }]);
  });

  it('settle() gives the root of a later activity no TTL', async () => {
    await bench.packets.create({ ...figures('a', 4), buckets: 2 });
    await bench.packets.close('a');
    let calls = 0;
    const run = bench.registry.run.bind(bench.registry);
    jest.spyOn(bench.registry, 'run').mockImplementation(async (definition, ...rest) => {
      // The calls for the buckets come before that for the root.
      if (definition.name === 'red-packet.settle-bucket' && ++calls === 3) await nextLife(6, 2);
      return run(definition, ...rest);
    });
    await bench.packets.settle('a');
    expect(calls).toBe(3);
    await hasNoTtl(2);
  });

  it('close() with a ledger takes no packet out of the refunds of a later activity', async () => {
    let paid: { userId: string; packetId: string; amountCents: number }[] = [];
    const late = await openBench(standaloneClient(), {
      prefix: bench.prefix,
      settings: {
        ledger: async () => {
          const earlier = paid;
          await nextLife(2, 1);
          await other.packets.close('a');
          return earlier;
        },
      },
    });
    await bench.packets.create({ ...figures('a', 2), split: 'equal' });
    const packet = packetOf(await bench.packets.grab('a', 'u'));
    paid = [{ userId: 'u', ...packet }];
    await late.packets.close('a');
    expect(await other.packets.status('a')).toMatchObject({ state: 'closed', grantedPackets: 0, refundedPackets: 2 });
    late.close();
  });

  it('a transfer brings no packets into a later activity', async () => {
    await bench.packets.create({ ...figures('a', 8), buckets: 2 });
    const { transfers, layouts } = bench.activities;
    const layout = layouts.build('a', 2);
    before('red-packet.receive-packets', () => nextLife(8, 2));
    expect(await transfers.move(layout, { from: 0, to: 1 })).toBe(0);
    expect(await other.packets.status('a')).toMatchObject({ remainingPackets: 8, movingPackets: 0 });
    expect(await other.packets.audit('a', { deep: true })).toMatchObject({ ok: true });
  });

  it('conflict() voids no grant of a later activity, and wins its user none', async () => {
    await bench.packets.create({ ...figures('a', 1), buckets: 1 });
    const { packetId } = packetOf(await bench.packets.grab('a', 'u'));
    const activityKey = (await bench.packets.status('a'))?.activityKey;
    await nextLife(1, 1);
    const won = packetOf(await other.packets.grab('a', 'u'));
    expect(won.packetId).toBe(packetId);
    await expect(bench.packets.conflict('a', { activityKey: '', userId: 'u', packetId })).rejects.toThrow(
      'activityKey is ""',
    );
    expect(await bench.packets.conflict('a', { activityKey, userId: 'u', packetId })).toEqual({
      voided: false,
      now: { status: 'not-open', reason: 'unknown' },
    });
    expect(await other.packets.grab('a', 'u')).toEqual({ status: 'already-won', packet: won });
    const now = (await other.packets.status('a'))?.activityKey;
    expect(await bench.packets.conflict('a', { activityKey: now, userId: 'u', packetId })).toMatchObject({
      voided: true,
    });
  });

  describe('the list of activities', () => {
    it.each([1, 2])('is left by a settled activity, also if create() is repeated, with %i buckets', async (buckets) => {
      const activity = { ...figures('a', 2), buckets };
      await bench.packets.create(activity);
      await bench.packets.close('a');
      expect(await bench.packets.settle('a')).toBe(true);
      expect(await settledMark()).not.toBeNull();
      expect(await bench.packets.create(activity)).toMatchObject({ created: false });
      expect(await settledMark()).not.toBeNull();
    });

    it('keeps an activity that owes something beyond its retention', async () => {
      const short = await openBench(standaloneClient(), { prefix: bench.prefix, retentionMs: 2_000 });
      await bench.packets.create(figures('a', 2));
      await bench.packets.close('a');
      before('red-packet.retire-activity', async () => {
        await nextLifeOf(short);
      });
      await bench.packets.settle('a');
      expect(await settledMark()).not.toBeNull();
      await eventually(async () => expect(await short.packets.status('a')).toMatchObject({ overdue: true }));
      expect(await short.packets.settle('a')).toBe(false);
      expect(await settledMark()).toBeNull();
      short.close();
    });

    async function nextLifeOf(short: Bench): Promise<void> {
      await bench.raw.del(...Object.values(ownKeys(bench.keysOf('a'))));
      await short.packets.create(figures('a', 2));
      packetOf(await short.packets.grab('a', 'u'));
      await short.registry.run(closeBucket, {
        keys: { ...bench.activities.layouts.root('a').buckets[0] } as never,
        args: { atEnd: 0 },
      });
    }
  });
});
