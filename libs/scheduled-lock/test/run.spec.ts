import { LostError } from 'luanest/script-registry';
import { LockLeases } from '../../lock/src/internal';
import { Run } from '../src/runs/run';
import { runLease } from '../src/runs/run-lease';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime } from '../../../test/support/manual-time';
import { jobOf, MODULE } from './runs-support';

describe('a run', () => {
  const time = new ManualTime();
  const leaseOf = (registry = new FakeRegistry()) =>
    runLease(
      registry.asRegistry,
      MODULE,
      jobOf(),
      { owner: 'n1#1', slot: 80, fence: 7, sentAt: time.now },
      () => ({ status: 'ran', durationMs: 5 }),
      new LockLeases(),
    );

  it('has a lease that is renewed with the token of the claim', async () => {
    const registry = new FakeRegistry();
    expect(leaseOf(registry)).toMatchObject({ name: 'report', fence: 7, endsAt: time.now + 2_999 });
    await time.pass(1_000);
    expect(registry.last).toMatchObject({ script: 'scheduled-lock.renew', keys: { state: 'state' } });
    expect(registry.last.args).toEqual({ owner: 'n1#1', leaseMs: 3_000, retentionMs: 9_000 });
    expect(registry.last.options).toEqual({ deadlineMs: 1_000 });
  });

  it('has one signal, which fires when its lease is lost', () => {
    const run = new Run('report', 80, leaseOf());
    const { signal } = run;
    expect([run.fence, signal.aborted, run.signal === signal, run.lost]).toEqual([7, false, true, false]);
    run.lease?.loseBecause('it was taken');
    expect([signal.aborted, run.lost]).toEqual([true, true]);
    expect(() => run.assertHeld()).toThrow(LostError);
  });

  it('has a signal that knows the end of its lease before the timer fires', () => {
    const run = new Run('report', 80, leaseOf());
    void run.signal;
    time.now += 3_000;
    expect(run.signal.aborted).toBe(true);
  });

  it('that is stopped is lost, but keeps its lease', () => {
    for (const lease of [leaseOf(), undefined]) {
      const run = new Run('report', 80, lease);
      expect(run.lost).toBe(false);
      run.stop();
      expect(run.signal.reason).toMatchObject({ message: 'This app is shutting down, so job report must end now.' });
      expect([run.lost, lease?.held ?? true]).toEqual([true, true]);
    }
  });

  it('without a lease has no fence, and is not held', () => {
    const run = new Run('report', 80);
    expect([run.fence, run.lost, run.signal.aborted]).toEqual([0, false, false]);
    expect(() => run.assertHeld()).toThrow('Job report runs without its lock');
  });
});
