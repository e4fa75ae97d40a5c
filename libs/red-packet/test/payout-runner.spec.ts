import { turn } from '../../../test/support/manual-time';
import { runInEachTest } from './payout-runner-support';

const test = runInEachTest();
const { time, start } = test;

describe('a payout run reads', () => {
  it('the outboxes of an activity with open payouts, with the options of the run', async () => {
    test.fake.activity('a');
    await start();
    expect(test.fake.run.activities).toEqual(['a']);
    expect(test.fake.readers[0]?.options).toEqual({
      pollMs: 100,
      concurrency: 3,
      stream: expect.objectContaining({ keys: ['p:{a}:outbox'] }) as unknown,
      group: 'payouts',
    });
    expect(test.fake.take()).toEqual(['status a', 'outboxes a', 'consume ']);
  });

  it('an activity that was woken, at the next poll', async () => {
    await start();
    test.fake.activity('b', {}, { open: 0 });
    test.fake.woken = ['b'];
    await time.pass(74);
    expect(test.fake.run.activities).toEqual([]);
    await time.pass(1);
    await turn();
    expect(test.fake.run.activities).toEqual(['b']);
  });

  it('nothing of a draft, of a quiet activity, and of one whose outboxes are unknown', async () => {
    test.fake.activity('draft', { state: 'draft' });
    test.fake.activity('quiet', { outboxLength: 0 }, { open: 1 });
    await start();
    expect([test.fake.run.activities, test.fake.take()]).toEqual([[], ['status draft', 'status quiet']]);
    test.fake.outboxKeys = [];
    test.fake.activity('a');
    await time.pass(1_000);
    await turn();
    expect(test.fake.run.activities).toEqual([]);
    expect(test.fake.take()).toContain('outboxes a');
  });

  it('the outboxes again if they have changed', async () => {
    test.fake.activity('a');
    await start();
    test.fake.outboxKeys = ['p:{a}:outbox', 'p:{b}:outbox'];
    await time.pass(2_000);
    await turn();
    expect(test.fake.readers.map(({ stopped }) => stopped)).toEqual([true, false]);
  });

  it('the outboxes again for a later activity with the same id and keys', async () => {
    test.fake.activity('a');
    await start();
    test.fake.activity('a', { expiresAtMs: time.now + 9_000_000 });
    await time.pass(2_000);
    await turn();
    expect(test.fake.readers.map(({ stopped }) => stopped)).toEqual([true, false]);
    await time.pass(4_000);
    expect(test.fake.readers).toHaveLength(2);
  });
});

describe('a payout run stops reading', () => {
  it('an open activity when nothing was won for two seconds, and keeps it in the index', async () => {
    test.fake.activity('a');
    await start();
    const { expiresAtMs } = test.fake.statuses.get('a') ?? {};
    test.fake.activity('a', { outboxLength: 0, grantedPackets: 2, expiresAtMs });
    await time.pass(1_000);
    // A packet was won since the last check, so the two seconds begin again.
    await time.pass(1_999);
    expect(test.fake.run.activities).toEqual(['a']);
    await time.pass(1_100);
    await turn();
    expect([test.fake.run.activities, test.fake.readers[0]?.stopped]).toEqual([[], true]);
    expect(test.fake.take()).toEqual(expect.arrayContaining([`add a 1 ${expiresAtMs}`, 'forget']));
  });

  it.each(['closed', 'ended'] as const)('and settles an activity that is %s and owes nothing', async (state) => {
    test.fake.activity('a', { state });
    await start();
    test.fake.activity('a', { state, outboxLength: 0 });
    await time.pass(2_100);
    await turn();
    expect([test.fake.run.activities, test.fake.readers[0]?.stopped]).toEqual([[], true]);
    const calls = test.fake.take();
    expect(calls).toContain('settle a');
    expect(calls.filter((call) => call.startsWith('add'))).toEqual([]);
  });

  it('an activity that is sold out and owes nothing, and neither settles nor forgets it', async () => {
    test.fake.activity('a', { state: 'sold-out' });
    await start();
    test.fake.activity('a', { state: 'sold-out', outboxLength: 0 });
    await time.pass(2_100);
    await turn();
    expect(test.fake.run.activities).toEqual([]);
    const calls = test.fake.take();
    expect(calls.some((call) => call.startsWith('add a 1 '))).toBe(true);
    expect(calls).not.toContain('settle a');
  });

  it('an activity that is settled, and does not settle it again', async () => {
    test.fake.activity('a', { state: 'closed' });
    await start();
    test.fake.activity('a', { state: 'closed', outboxLength: 0, settled: true });
    await time.pass(2_100);
    await turn();
    expect([test.fake.run.activities, test.fake.take().includes('settle a')]).toEqual([[], false]);
  });

  it.each(['gone', 'overdue'])('an activity that is %s, and settles it', async (how) => {
    test.fake.activity('a');
    await start();
    if (how === 'gone') test.fake.statuses.delete('a');
    else test.fake.activity('a', { state: 'draft', overdue: true });
    await time.pass(2_100);
    await turn();
    expect([test.fake.run.activities, test.fake.take().includes('settle a')]).toEqual([[], true]);
  });

  it('everything when it is stopped', async () => {
    test.fake.activity('a');
    test.fake.activity('b');
    await start();
    expect(test.fake.run.stopped).toBe(false);
    await test.fake.run.stop();
    expect([test.fake.run.stopped, test.fake.run.activities, test.fake.readers.map(({ stopped }) => stopped)]).toEqual([
      true,
      [],
      [true, true],
    ]);
    test.fake.take();
    await time.pass(60_000);
    expect([test.fake.take(), time.running]).toEqual([[], []]);
  });
});

describe('a closed activity without payouts', () => {
  it('is checked again after 30 s, or near the end of its retention after 5 s', async () => {
    test.fake.activity('far', { state: 'closed', outboxLength: 0 }, { open: 0 });
    test.fake.activity('near', { state: 'closed', outboxLength: 0, expiresAtMs: time.now + 3_000 }, { open: 0 });
    await start();
    expect(test.fake.take().filter((call) => call.startsWith('status'))).toEqual(['status far', 'status near']);
    await time.pass(4_500);
    expect(test.fake.take()).toEqual([]);
    await time.pass(1_600);
    expect(test.fake.take()).toContain('status near');
    await time.pass(22_000);
    expect(test.fake.take()).not.toContain('status far');
    await time.pass(4_000);
    expect(test.fake.take()).toContain('status far');
  });
});
