import { eventually } from '../../../test/support/wait';
import { beginActivity } from '../src/activity/activity.scripts';
import type { Lifecycle } from '../src/activity/lifecycle';
import { before, beginArgs, figures, openBench, redisNow, servers, type Bench } from './support';

describe.each(servers)('a draft of several buckets that another process opens meanwhile, on %s', (_name, connect) => {
  let bench: Bench;
  let other: Bench;
  beforeEach(async () => {
    bench = await openBench(connect());
    other = await openBench(connect(), { prefix: bench.prefix });
  });
  afterEach(() => [bench, other].forEach((each) => each.close()));

  /** Leaves a draft, as a crash behind the first step of a creation does. It is opened before the first run of `script`. */
  async function draft(activityId: string, script: string, endsAtMs = 0): Promise<void> {
    const activity = { ...figures(activityId, 4), buckets: 2, ...(endsAtMs && { endsAtMs }) };
    const args = { ...beginArgs(activity, 'a'.repeat(32)), buckets: 2, bucket: -1, endsAtMs };
    const begun = await bench.registry.run(beginActivity, { keys: bench.keysOf(activityId), args });
    expect(begun.status).toBe('begun');
    const run = bench.registry.run.bind(bench.registry);
    let opened = false;
    jest.spyOn(bench.registry, 'run').mockImplementation(async (definition, ...rest) => {
      if (definition.name === script && !opened) {
        opened = true;
        expect(await other.packets.create(activity)).toMatchObject({ created: true });
      }
      return run(definition, ...rest);
    });
  }

  const closed = { closed: true, refundedPackets: 4, refundedCents: figures('any', 4).totalCents };

  it('is closed with all its buckets', async () => {
    await draft('by-hand', 'red-packet.close-activity');
    expect(await bench.packets.close('by-hand')).toMatchObject(closed);
    expect(await other.packets.status('by-hand')).toMatchObject({ state: 'closed', remainingPackets: 0 });
  });

  it('is closed with all its buckets at its end', async () => {
    const id = await before(bench, 300, async (endsAtMs, turn) => {
      await draft(`at-end-${turn}`, 'red-packet.close-activity', endsAtMs);
      return `at-end-${turn}`;
    });
    const { endsAtMs = 0 } = (await bench.packets.status(id)) ?? {};
    await eventually(async () => expect(await redisNow(bench)).toBeGreaterThan(endsAtMs));
    const { lifecycle } = bench.packets as unknown as { lifecycle: Lifecycle };
    expect(await lifecycle.closeAtEnd(id)).toMatchObject({ closed });
    expect(await other.packets.audit(id, { deep: true })).toMatchObject({ ok: true, state: 'closed' });
  });

  it('is paused with all its buckets', async () => {
    await draft('paused', 'red-packet.set-pause');
    expect(await bench.packets.pause('paused')).toBe('paused');
    expect(await other.packets.grab('paused', 'u')).toMatchObject({ status: 'not-open', reason: 'paused' });
  });
});
