import { ConsoleLogger, Logger } from '@nestjs/common';
import { deadLetter } from 'luanest/stream-consumer';
import type { Payout } from 'luanest/red-packet';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { figures, openBench, ownKeys, QUICK, type Bench } from './support';

Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));

describe('payouts of an activity that Redis has lost, and of a later one with the same id', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(standaloneClient());
  });
  afterEach(() => bench.close());

  /** Two lives of an activity: Redis loses the first one while its winner is not paid. Returns the key of each. */
  async function twoLives(): Promise<(string | undefined)[]> {
    const { packets, raw } = bench;
    await packets.create({ ...figures('a', 2), split: 'equal' });
    await packets.grab('a', 'ann');
    const first = await packets.status('a');
    await raw.del(...Object.values(ownKeys(bench.keysOf('a'))));
    await eventually(async () => {
      await packets.create({ ...figures('a', 3), split: 'equal' });
      expect((await packets.status('a'))?.expiresAtMs).toBeGreaterThan(first?.expiresAtMs ?? 0);
    });
    await packets.grab('a', 'bob');
    return [first?.activityKey, (await packets.status('a'))?.activityKey];
  }

  it('are paid by the key of their own activity, and counted in it only', async () => {
    const [first, second] = await twoLives();
    expect(await bench.payouts.stats('a')).toEqual({ open: 1, deadLetters: 0 });
    const paid: Payout[] = [];
    const run = bench.payouts.run((payout) => void paid.push(payout), QUICK);
    await eventually(() => expect(paid).toHaveLength(2));
    await run.stop();
    expect(paid.map(({ userId, activityKey, attempt }) => `${userId} ${activityKey} ${attempt}`).sort()).toEqual([
      `ann ${first} 1`,
      `bob ${second} 1`,
    ]);
    expect(await bench.payouts.stats('a')).toEqual({ open: 0, deadLetters: 0 });
    expect(await bench.packets.audit('a', { deep: true })).toMatchObject({ ok: true });
  });

  it('that cannot be paid are kept: of the lost activity as dead letters of the stream', async () => {
    await twoLives();
    const run = bench.payouts.run(() => deadLetter('no account'), QUICK);
    await eventually(async () => expect(await bench.payouts.stats('a')).toEqual({ open: 0, deadLetters: 1 }));
    expect((await bench.payouts.deadLetters('a')).items).toMatchObject([{ payload: { userId: 'bob' } }]);
    await eventually(async () => {
      const { items } = await bench.streams.deadLetters('red-packet.payouts', 'payouts');
      expect(items).toMatchObject([{ payload: { user: 'ann' }, error: 'no account' }]);
    });
    // A replay is handled as the first time.
    expect(await bench.streams.replayAll('red-packet.payouts', 'payouts')).toBe(1);
    await eventually(async () => {
      const { items } = await bench.streams.deadLetters('red-packet.payouts', 'payouts');
      expect(items).toHaveLength(1);
    });
    await run.stop();
  });
});
