import { setTimeout as sleep } from 'node:timers/promises';
import { standaloneClient } from '../../script-registry/test/support';
import { figures, openBench, packetOf, payAll, quiet, QUICK, type Bench } from './support';

/** The number may change while there are no activities. Then an app with the earlier number may still run for a while. */
describe('an app with another number of partitions than the activities', () => {
  let now: Bench;
  let earlier: Bench;

  beforeEach(async () => {
    earlier = await openBench(quiet(standaloneClient()), { settings: { partitions: 16 } });
    await earlier.packets.onModuleInit();
    now = await openBench(quiet(standaloneClient()), { prefix: earlier.prefix, settings: { partitions: 8 } });
    await now.packets.onModuleInit();
  });
  afterEach(() => [now, earlier].forEach((bench) => bench.close()));

  /** Returns the id of an activity of which both apps do, or do not, read the key. */
  function idWith(key: 'meta' | 'outbox', same: boolean): string {
    const { outboxes } = earlier.activities.layouts;
    for (let i = 0; ; i++) {
      const [one, other] = [now.keysOf(`a${i}`), earlier.keysOf(`a${i}`)];
      if ((one[key] === other[key]) === same && outboxes.includes(one.outbox)) return `a${i}`;
    }
  }

  it('leaves their payouts to other apps', async () => {
    const run = earlier.payouts.run(() => undefined, QUICK);
    const id = idWith('outbox', false);
    await now.packets.create(figures(id, 3));
    const { packetId } = packetOf(await now.packets.grab(id, 'u'));
    // Time for the other run to take the row.
    await sleep(1_500);
    expect(await payAll(now, id)).toMatchObject([{ packetId, attempt: 1 }]);
    await run.stop();
    expect(await now.raw.keys(`${now.prefix}:stream-consumer:*:dead:*`)).toEqual([]);
  });

  it.each(['close', 'settle', 'forget', 'status'] as const)(
    'does not %s one of which it does not find all buckets',
    async (name) => {
      const id = idWith('meta', true);
      await now.packets.create({ ...figures(id, 30), buckets: 3 });
      await expect(earlier.packets[name](id)).rejects.toThrow('partitions is 16, but Redis has activities with 8');
      expect(await now.packets.status(id)).toMatchObject({ state: 'open', remainingPackets: 30 });
      expect(await now.raw.pttl(now.keysOf(id).meta)).toBe(-1);
    },
  );

  it('does not take one that it does not find for gone', async () => {
    const id = idWith('outbox', false);
    await now.packets.create(figures(id, 3));
    expect(await earlier.packets.close(id)).toBeUndefined();
    await expect(earlier.packets.settle(id)).rejects.toThrow('partitions is 16, but Redis has activities with 8');
  });
});
