import { LostError } from 'luanest/script-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, type Pending } from '../../../test/support/replies';
import { LeaseTimer, type TimedLease } from '../src/runs/lease-timer';
import { mustStop } from '../src/runs/run';
import { Runs } from '../src/runs/runs';

const time = new ManualTime();

/** Begins a run with a lease of 600 ms and at most 2,000 ms. Its renewals are sent when `replies` gets one more. */
function begin(parts: { leaseMs?: number; maxLeaseMs?: number; beforeRenewal?: () => void } = {}) {
  const { leaseMs = 600, maxLeaseMs = 2_000, beforeRenewal } = parts;
  const renewals: unknown[] = [];
  const replies: Pending<{ status: string }>[] = [];
  const renew = (options: unknown) => {
    renewals.push([time.now - 1_000, options]);
    replies.push(pending());
    return (replies.at(-1) as Pending<{ status: string }>).promise;
  };
  const runs = new Runs({ drainMs: 100, abortGraceMs: 50 });
  const claim = { fence: 7, renew } as never;
  const run = runs.begin('id', { claim, claimedAt: time.now, leaseMs, maxLeaseMs }, beforeRenewal);
  return { runs, run, renewals, replies };
}

const reasonOf = (signal: AbortSignal): string => (signal.reason as Error).message;
const lost = (because: string): string => mustStop(because).message;

describe('the lease of a run', () => {
  it('is renewed each third of its length, and lasts from the moment of the call', async () => {
    const { run, renewals, replies } = begin();
    await time.pass(199);
    expect(renewals).toEqual([]);
    await time.pass(1);
    replies[0]?.resolve({ status: 'renewed' });
    await time.pass(200);
    expect(renewals).toEqual([[200, { leaseMs: 600 }], [400, { leaseMs: 600 }]]); // prettier-ignore
    // The second reply does not come, and the first renewal was sent at 200 ms.
    await time.pass(399);
    expect(run.signal.aborted).toBe(false);
    await time.pass(1);
    expect([run.signal.aborted, reasonOf(run.signal)]).toEqual([true, lost('its lease was not renewed in time')]);
    expect(run.fence).toBe(7);
  });

  it('is not shortened by the reply to an earlier renewal that comes late', async () => {
    const { run, replies } = begin();
    await time.pass(400);
    replies[1]?.resolve({ status: 'renewed' });
    await turn();
    replies[0]?.resolve({ status: 'renewed' });
    await time.pass(599);
    expect(run.signal.aborted).toBe(false);
  });

  it('is lost if Redis says so', async () => {
    const { run, replies } = begin();
    const { signal } = run;
    await time.pass(200);
    replies[0]?.resolve({ status: 'lost' });
    await turn();
    expect(reasonOf(signal)).toBe(lost('its lease has ended, another owner has the id, or Redis lost the claim'));
    expect(() => run.assertHeld()).toThrow(LostError);
  });

  it('is tried again after a renewal that failed', async () => {
    const { run, renewals, replies } = begin();
    await time.pass(200);
    replies[0]?.reject(new Error('down'));
    await time.pass(200);
    replies[1]?.resolve({ status: 'renewed' });
    await time.pass(250);
    expect([renewals.length, run.signal.aborted]).toEqual([3, false]);
  });

  it('ends after maxLeaseMs, although it was renewed', async () => {
    const { run, renewals, replies } = begin();
    const { signal } = run;
    for (let ms = 0; ms < 2_000; ms += 50) {
      expect(signal.aborted).toBe(false);
      await time.pass(50);
      replies.at(-1)?.resolve({ status: 'renewed' });
      await turn();
    }
    expect(reasonOf(signal)).toBe(lost('it has run for at least its maxLeaseMs, 2000 ms'));
    const sent = renewals.length;
    await time.pass(1_000);
    expect(renewals).toHaveLength(sent);
  });

  it('ends after leaseMs if that is longer than maxLeaseMs', async () => {
    const { run } = begin({ leaseMs: 600, maxLeaseMs: 100 });
    await time.pass(599);
    expect(run.signal.aborted).toBe(false);
    await time.pass(1);
    expect(run.signal.aborted).toBe(true);
  });

  it('is not renewed after it was settled, also if that happens just before a renewal', async () => {
    const settling = begin({ beforeRenewal: () => settling.run.settle() });
    const settled = begin();
    settled.run.settle();
    await time.pass(1_000);
    expect([settling.renewals, settled.renewals, settling.run.signal.aborted, settled.run.signal.aborted]).toEqual([
      [],
      [],
      false,
      false,
    ]);
    expect(() => settled.run.assertHeld()).toThrow(lost('its work has already ended'));
  });

  it('is not lost by a reply after it was settled', async () => {
    const { run, replies } = begin();
    const { signal } = run;
    await time.pass(200);
    run.settle();
    replies[0]?.resolve({ status: 'lost' });
    await turn();
    expect(signal.aborted).toBe(false);
  });

  it('may have no method to renew, as in a mock', async () => {
    const runs = new Runs({ drainMs: 0, abortGraceMs: 0 });
    const run = runs.begin('id', { claim: { fence: 1 } as never, claimedAt: time.now, leaseMs: 60, maxLeaseMs: 60 });
    await time.pass(40);
    expect(run.signal.aborted).toBe(false);
  });

  it('is held until it is lost', () => {
    const { run } = begin();
    expect(() => run.assertHeld()).not.toThrow();
    time.now += 600;
    expect(() => run.assertHeld()).toThrow(lost('its lease was not renewed in time'));
  });

  it('that was revoked is renewed, and keeps its first reason', async () => {
    const { run, renewals } = begin();
    run.revoke('first');
    run.revoke('second');
    const { signal } = run;
    run.revoke('third');
    expect([signal.aborted, reasonOf(signal)]).toEqual([true, lost('first')]);
    expect(() => run.assertHeld()).toThrow(lost('first'));
    await time.pass(200);
    expect(renewals).toHaveLength(1);
  });

  it('fires a signal that was read before', () => {
    const { run } = begin();
    const { signal } = run;
    const fired = jest.fn();
    signal.addEventListener('abort', fired);
    run.revoke('stop');
    expect([fired.mock.calls.length, run.signal === signal, reasonOf(signal)]).toEqual([1, true, lost('stop')]);
  });
});

describe('the timer of many leases', () => {
  const lease = (next: (now: number) => number = () => Infinity) => {
    const calls: number[] = [];
    const one: TimedLease = { index: -1, tick: (now) => (calls.push(now - 1_000), next(now)) };
    return { one, calls };
  };

  it('calls each lease at least each sixth of the length, and earlier if a lease asks for it', async () => {
    const timer = new LeaseTimer(600, () => undefined);
    const [usual, early] = [lease(), lease((now) => now + 30)];
    timer.add(usual.one);
    expect([time.running, time.keepsProcess]).toEqual([[100], false]);
    await time.pass(100);
    timer.add(early.one);
    expect(time.running).toEqual([100]);
    await time.pass(200);
    expect([usual.calls, early.calls]).toEqual([
      [100, 200, 230, 260, 290],
      [200, 230, 260, 290],
    ]);
  });

  it('waits at least a millisecond, whole milliseconds, and no longer than a timer can', async () => {
    const late = new LeaseTimer(601, () => undefined);
    late.add(lease((now) => now - 5).one);
    expect(time.running).toEqual([101]);
    await time.pass(101);
    expect(time.running).toEqual([1]);
    new LeaseTimer(1e12, () => undefined).add(lease().one);
    expect(time.running).toContain(2 ** 31 - 1);
  });

  it('removes leases in any order, also twice, and ends without leases', async () => {
    const emptied = jest.fn();
    const timer = new LeaseTimer(600, emptied);
    const [a, b, c] = [lease(), lease(), lease()];
    for (const { one } of [a, b, c]) timer.add(one);
    timer.remove(a.one);
    expect([timer.leases, timer.leases.map(({ index }) => index)]).toEqual([[c.one, b.one], [0, 1]]); // prettier-ignore
    timer.remove(a.one);
    expect(timer.leases).toHaveLength(2);
    timer.remove(b.one);
    timer.remove(c.one);
    expect([timer.leases, emptied.mock.calls.length]).toEqual([[], 0]);
    await time.pass(100);
    expect([emptied.mock.calls.length, time.running]).toEqual([1, []]);
    timer.add(a.one);
    expect(time.running).toEqual([100]);
  });

  it('calls all leases, although one is removed meanwhile', async () => {
    const timer = new LeaseTimer(600, () => undefined);
    const b = lease();
    const a: ReturnType<typeof lease> = lease(() => {
      timer.remove(a.one);
      return Infinity;
    });
    timer.add(a.one);
    timer.add(b.one);
    await time.pass(100);
    expect([a.calls, b.calls]).toEqual([[100], [100]]);
  });
});
