import { deadLetter } from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { buryPayout } from '../src/payouts/payout.scripts';
import { figures, openBench, packetOf, quiet, QUICK, type Bench } from './support';

let bench: Bench;
beforeEach(async () => {
  // With a short lease, a busy machine would make more attempts.
  bench = await openBench(quiet(standaloneClient()), { leaseMs: 30_000 });
});
afterEach(() => bench.close());

/** Does what a failover does that loses the first burial of a payout after its reply. */
function loseBurial(): void {
  const run = bench.registry.run.bind(bench.registry) as (...call: unknown[]) => Promise<unknown>;
  let lost = false;
  jest.spyOn(bench.registry, 'run').mockImplementation(async (...call: unknown[]) => {
    if (lost || call[0] !== buryPayout) return run(...call);
    lost = true;
    const keys = Object.values((call[1] as { keys: Record<string, string> }).keys);
    const before = await Promise.all(keys.map(async (key) => [key, await bench.raw.dumpBuffer(key)] as const));
    const reply = await run(...call);
    for (const [key, value] of before) {
      // In one step: a reader that found no stream in between would begin a new group.
      await (value === null ? bench.raw.del(key) : bench.raw.restore(key, 0, value, 'REPLACE'));
    }
    return reply;
  });
}

it.each([false, true])(
  'a payout that is dead-lettered is a dead letter of its activity (failover: %s)',
  async (fails) => {
    await bench.packets.create(figures('a', 2));
    const { packetId } = packetOf(await bench.packets.grab('a', 'u'));
    if (fails) loseBurial();
    const attempts: number[] = [];
    const handler = ({ attempt }: { attempt: number }) => {
      attempts.push(attempt);
      return deadLetter('no account');
    };
    const run = bench.payouts.run(handler, QUICK);
    await eventually(async () => expect(await bench.payouts.stats('a')).toEqual({ open: 0, deadLetters: 1 }));
    const { outbox } = bench.keysOf('a');
    // Nothing is left of it in the group.
    await eventually(async () => {
      expect((await bench.raw.xpending(outbox, 'payouts'))[0]).toBe(0);
      const left = await bench.raw.keys(`${bench.prefix}:stream-consumer:*`);
      expect(left.filter((key) => /:(due|tries|dead):/.test(key))).toEqual([]);
    });
    await run.stop();
    expect(attempts).toEqual(fails ? [1, 1] : [1]);
    const { items } = await bench.payouts.deadLetters('a');
    expect(items).toMatchObject([{ payload: { packetId }, error: 'no account', attemptsMade: 1 }]);
    expect((await bench.packets.audit('a', { deep: true }))?.problems).toEqual([]);
  },
);
