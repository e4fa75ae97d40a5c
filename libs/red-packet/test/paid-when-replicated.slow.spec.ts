import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/wait';
import { FailingMaster, PaidOnce } from './failing-master';
import { figures, packetOf, QUICK, type Bench } from './support';

let redis: FailingMaster;
let ledger: PaidOnce;
beforeEach(async () => {
  redis = await FailingMaster.start();
  ledger = new PaidOnce();
});
afterEach(() => redis?.stop());

async function win({ packets }: Bench, users: number): Promise<void> {
  for (let i = 0; i < users; i++) {
    await eventually(async () => expect((await packets.grab('a', `user-${i}`)).status).toMatch(/won$/));
  }
}

describe('with replicas', () => {
  it('pays nothing that no replica has, spends no attempt on it, and pays it when the replica has it', async () => {
    const bench = await redis.connect();
    await bench.packets.create({ ...figures('a', 20), split: 'equal' });
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const logged = jest.spyOn(Logger.prototype, 'log').mockImplementation();
    await redis.replicated();
    redis.sever();
    for (let i = 0; i < 5; i++) {
      expect(await bench.packets.grab('a', `user-${i}`)).toMatchObject({ status: 'unconfirmed' });
    }
    const attempts: number[] = [];
    const pay = ledger.handlerFor(bench);
    const run = bench.payouts.run(
      (payout) => {
        attempts.push(payout.attempt);
        return pay(payout);
      },
      { ...QUICK, attempts: 1 },
    );
    await eventually(() =>
      expect(warned.mock.calls.flat().join()).toContain('Payouts of red packets wait, because fewer than 1 replicas'),
    );
    // Longer than a row is checked once and put back.
    await sleep(2_500);
    expect(ledger.rows).toEqual([]);
    await redis.join();
    await eventually(async () => expect(await bench.payouts.stats('a')).toEqual({ open: 0, deadLetters: 0 }), {
      timeoutMs: 20_000,
    });
    expect(attempts).toEqual([1, 1, 1, 1, 1]);
    expect(ledger.cents).toBe(500);
    await run.stop();
    expect(warned.mock.calls.filter(([text]) => String(text).startsWith('Payouts of red packets wait'))).toHaveLength(
      1,
    );
    expect(logged.mock.calls.flat()).toContain(
      'The replicas of Redis confirm writes again, so the payouts of red packets that waited for them are being paid now.',
    );
  });

  it('never pays a win that a failover takes away: paid + refunded = total', async () => {
    const bench = await redis.connect();
    await bench.packets.create({ ...figures('a', 20), split: 'equal' });
    await win(bench, 2);
    const run = bench.payouts.run(ledger.handlerFor(bench), QUICK);
    await eventually(() => expect(ledger.cents).toBe(200));
    await redis.replicated();
    redis.sever();
    for (let i = 2; i < 7; i++) await bench.packets.grab('a', `user-${i}`);
    await sleep(500);
    await redis.failOver();
    // The promoted master has no replica yet, so the refund is not reported either.
    await expect(bench.packets.close('a')).rejects.toMatchObject({ code: 'NOT_REPLICATED' });
    await redis.addReplica();
    const closed = await bench.packets.close('a');
    await eventually(async () => expect((await bench.payouts.stats('a'))?.open).toBe(0));
    expect(ledger.cents + (closed?.refundedCents ?? 0)).toBe(2_000);
    expect((await bench.packets.audit('a', { ledger: ledger.rows }))?.problems).toEqual([]);
    await run.stop();
  });

  it('moves no packets on to another bucket that a failover may bring back', async () => {
    const bench = await redis.connect({ transferWaitMs: 300 });
    await bench.packets.create({ ...figures('a', 8), split: 'equal', buckets: 2 });
    const [one, two] = [bench.bucketsOf('a', 2)[0], bench.bucketsOf('a', 2)[1]];
    await redis.replicated();
    redis.sever();
    const { transfers, layouts } = bench.activities;
    const layout = layouts.build('a', 2);
    await expect(transfers.move(layout, { from: 0, to: 1 })).rejects.toMatchObject({ code: 'NOT_REPLICATED' });
    expect([await bench.raw.llen(one?.pool ?? ''), await bench.raw.llen(two?.pool ?? '')]).toEqual([2, 4]);
    await redis.join();
    expect(await transfers.move(layout, { from: 0, to: 1 }, 0)).toBe(2);
    expect([await bench.raw.llen(one?.pool ?? ''), await bench.raw.llen(two?.pool ?? '')]).toEqual([2, 6]);
    expect((await bench.packets.audit('a', { deep: true }))?.problems).toEqual([]);
  });
});

describe('without replicas', () => {
  const settings = { replicas: 0 };

  async function loseWins(bench: Bench): Promise<void> {
    await bench.packets.create({ ...figures('a', 20), split: 'equal' });
    await redis.replicated();
    redis.sever();
    for (let i = 0; i < 5; i++) packetOf(await bench.packets.grab('a', `user-${i}`));
    const run = bench.payouts.run(ledger.handlerFor(bench), QUICK);
    await eventually(() => expect(ledger.cents).toBe(500));
    await run.stop();
    await redis.failOver();
    expect(await bench.packets.status('a')).toMatchObject({ grantedPackets: 0 });
  }

  it('an audit reports what was paid and refunded', async () => {
    const bench = await redis.connect({ settings });
    await loseWins(bench);
    expect(await bench.packets.close('a')).toMatchObject({ refundedCents: 2_000 });
    const { problems } = (await bench.packets.audit('a', { ledger: ledger.rows })) ?? {};
    expect(problems).toContain('packet 1 was refunded, but the ledger has paid it, too');
    expect(problems).toContain(
      'the ledger has paid and Redis has refunded 2500 cents together, more than the 2000 cents of the activity',
    );
  });

  it.each(['array', 'promise', 'generator'])('a packet that the ledger has paid is not refunded (%s)', async (kind) => {
    const asked: unknown[] = [];
    async function* pages() {
      yield* await Promise.resolve(ledger.rows);
    }
    const paid = (query: unknown) => {
      asked.push(query);
      return kind === 'array' ? ledger.rows : kind === 'promise' ? Promise.resolve(ledger.rows) : pages();
    };
    const bench = await redis.connect({ settings: { ...settings, ledger: paid } });
    await loseWins(bench);
    // One of the users comes back, and keeps what was paid.
    const run = bench.payouts.run(ledger.handlerFor(bench), QUICK);
    const answer = await bench.packets.grab('a', 'user-3');
    expect(answer.status).toBe('won');
    await eventually(async () => expect((await bench.payouts.stats('a'))?.open).toBe(0));
    await run.stop();
    const closed = await bench.packets.close('a');
    expect(closed).toMatchObject({ closed: true, refundedPackets: 15, refundedCents: 1_500 });
    expect(await bench.packets.close('a')).toMatchObject({ closed: false, refundedCents: 1_500 });
    const { activityKey } = (await bench.packets.status('a')) ?? {};
    expect(asked).toEqual([{ activityId: 'a', activityKey }]);
    const report = await bench.packets.audit('a', { deep: true });
    expect(report?.deep).toMatchObject({ paid: { cents: 500 }, refunded: { cents: 1_500 } });
    expect(await bench.packets.settle('a')).toBe(true);
  });

  it('close rejects with the error of the ledger, and compares when it is called again', async () => {
    let fails = true;
    const paid = () => {
      if (fails) throw new Error('no database');
      return ledger.rows;
    };
    const bench = await redis.connect({ settings: { ...settings, ledger: paid } });
    await loseWins(bench);
    await expect(bench.packets.close('a')).rejects.toThrow('no database');
    fails = false;
    expect(await bench.packets.close('a')).toMatchObject({ refundedCents: 1_500 });
  });
});
