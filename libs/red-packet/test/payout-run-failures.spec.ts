import { ClosedError } from 'luanest/script-registry';
import { turn } from '../../../test/support/manual-time';
import { runInEachTest } from './payout-runner-support';

const test = runInEachTest();
const { time, start, lines } = test;

describe('a search that fails', () => {
  it('is logged once, and so is its end', async () => {
    test.fake.activity('a');
    test.fake.failing.set('status', new Error('down'));
    await start();
    await time.pass(5_000);
    const warning =
      'warn: The search for payouts failed for some or all activities. Until it works again, payouts may be late. Error: down';
    expect(lines).toEqual([warning]);
    test.fake.failing.set('status', new Error('still down'));
    await time.pass(2_000);
    expect(lines).toEqual([warning, warning.replace('down', 'still down')]);
    test.fake.failing.clear();
    await time.pass(3_000);
    await turn();
    expect([lines.slice(2), test.fake.run.activities]).toEqual([['log: The search for payouts works again.'], ['a']]); // prettier-ignore
  });

  it('ends the run if stream-consumer is closed', async () => {
    test.fake.activity('a');
    test.fake.failing.set('consume', new ClosedError('closed'));
    await start();
    expect([test.fake.run.stopped, lines]).toEqual([true, []]);
    test.fake.take();
    await time.pass(60_000);
    expect([test.fake.take(), time.running]).toEqual([[], []]);
  });
});

describe('a payout', () => {
  const row = { user: 'u', packet: '7', cents: '120', at: '1' };
  const message = (payload: unknown) => ({ payload, attempt: 2, signal: AbortSignal.abort('x') });

  it('is given to the handler, with a key that stays the same', async () => {
    test.fake.activity('a/b');
    await start();
    const { expiresAtMs } = test.fake.statuses.get('a/b') ?? {};
    const { signal } = message(row);
    test.fake.readers[0]?.handle({ payload: row, attempt: 2, signal });
    expect(test.fake.paid).toEqual([
      {
        activityId: 'a/b',
        activityKey: `a%2Fb@${expiresAtMs}`,
        userId: 'u',
        packetId: '7',
        amountCents: 120,
        grantedAtMs: 1,
        idempotencyKey: `a%2Fb@${expiresAtMs}:7`,
        attempt: 2,
        signal,
      },
    ]);
    expect(test.fake.paid[0]?.signal).toBe(signal);
  });

  it('that no grab wrote is dead-lettered', async () => {
    test.fake.activity('a');
    await start();
    expect(test.fake.readers[0]?.handle(message({ any: 'thing' }))).toMatchObject({
      reason: 'This entry is not a payout: no grab wrote it to the outbox.',
    });
    expect(test.fake.paid).toEqual([]);
  });

  it('of a later activity waits until that is read, and does not use up an attempt', async () => {
    test.fake.activity('a');
    await start();
    const { expiresAtMs } = test.fake.statuses.get('a') ?? {};
    test.fake.take();
    const result = test.fake.readers[0]?.handle(message({ ...row, at: String(expiresAtMs) }));
    expect(result).toMatchObject({ delayMs: 1_000, countsAsAttempt: false });
    await turn();
    expect([test.fake.paid, test.fake.take()[0]]).toEqual([[], 'status a']);
    test.fake.readers[0]?.handle(message({ ...row, at: String(Number(expiresAtMs) - 1) }));
    expect(test.fake.paid).toHaveLength(1);
  });
});
