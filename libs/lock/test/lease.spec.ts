import { Logger } from '@nestjs/common';
import { LostError } from 'luanest/script-registry';
import { LockEvents } from 'luanest/lock';
import { openLease } from './lease-support';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';

describe('the lease of a lock', () => {
  const time = new ManualTime();
  const events = new Published(LockEvents);
  const open = () => openLease({ sentAt: time.now });
  const ended = ['lockLost', { name: 'a', fence: 7, heldMs: 2_999, reason: 'the lease ended' }];
  let warnings: unknown[];
  beforeEach(() => {
    warnings = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((message: unknown) => void warnings.push(message));
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is lost at its end by the local clock, whether its timer or a caller notices it', async () => {
    const [noticed, looked] = [open(), open()];
    time.now += 2_999;
    expect(() => looked.lease.assertHeld()).toThrow('Lock a (fencing token 7) is lost: the lease ended.');
    time.now -= 2_999;
    await time.pass(2_999);
    expect(noticed.lease.signal.reason).toBeInstanceOf(LostError);
    expect(events.take()).toEqual([ended, ended]);
    expect([noticed.leases.all, looked.leases.all]).toEqual([[], []]);
    expect(warnings).toEqual(
      Array(2).fill(
        'Lock a was lost before its release: the lease ended. Another process may have had the lock while the work ran.',
      ),
    );
  });

  it('is lost if a renewal finds none in Redis', async () => {
    const { lease, leases, renewals } = open();
    await time.pass(1_000);
    expect(renewals).toMatchObject([{ leaseMs: 3_000, deadlineMs: 1_000 }]);
    renewals[0]?.reply.resolve(false);
    await turn();
    const reason = 'at a renewal, Redis had no lease of this holder any more';
    expect(events.take()).toEqual([['lockLost', { name: 'a', fence: 7, heldMs: 1_000, reason }]]);
    expect([lease.held, leases.all, warnings]).toEqual([
      false,
      [],
      [`Lock a was lost before its release: ${reason}. Another process may have had the lock while the work ran.`],
    ]);
  });

  it('reports a renewal that failed, and renews again', async () => {
    const { lease, renewals } = open();
    await time.pass(1_000);
    const error = new Error('no reply');
    renewals[0]?.reply.reject(error);
    await turn();
    expect(events.take()).toEqual([['callFailed', { name: 'a', during: 'renew', error }]]);
    await time.pass(300);
    renewals[1]?.reply.resolve(true);
    await time.pass(2_500);
    expect([lease.held, renewals.length, warnings]).toEqual([true, 3, []]);
  });

  it('that is lost is lost once, and is logged and removed', () => {
    const { lease, leases } = open();
    time.now += 5;
    lease.loseBecause('one');
    lease.loseBecause('two');
    lease.revoke('three');
    expect(events.take()).toEqual([['lockLost', { name: 'a', fence: 7, heldMs: 5, reason: 'one' }]]);
    expect([lease.held, leases.all, warnings]).toEqual([
      false,
      [],
      ['Lock a was lost before its release: one. Another process may have had the lock while the work ran.'],
    ]);
  });

  it('is logged in one line, whatever its name is', () => {
    const { lease } = openLease({ sentAt: time.now, name: 'a\nb' });
    lease.loseBecause('one');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).not.toMatch(/\n/);
  });

  it('is logged for at most 20 locks in 10 s', () => {
    const { leases } = open();
    for (let i = 0; i < 30; i++) leases.logLoss(`n${i}`, 'one');
    time.now += 10_000;
    leases.logLoss('later', 'one');
    expect(warnings).toHaveLength(21);
    expect(warnings.slice(18)).toEqual([
      'Lock n18 was lost before its release: one. Another process may have had the lock while the work ran.',
      'Lock n19 was lost before its release: one. Another process may have had the lock while the work ran. Further lost locks are not logged for up to 10 s.',
      'Lock later was lost before its release: one. Another process may have had the lock while the work ran.',
    ]);
  });

  it('that is revoked is not held, but is renewed and not removed, and is not logged', async () => {
    const { lease, leases, renewals } = open();
    lease.revoke('shutdown');
    await time.pass(1_000);
    expect([lease.held, leases.all, renewals.length, warnings]).toEqual([false, [lease], 1, []]);
    expect(events.take()).toEqual([['lockLost', { name: 'a', fence: 7, heldMs: 0, reason: 'shutdown' }]]);
  });

  it('is released once, is not held from when its release begins, and is removed when Redis has replied', async () => {
    const { lease, leases, releases } = open();
    const { signal } = lease;
    const released = lease.release();
    expect([lease.held, lease.release() === released, leases.all]).toEqual([false, true, [lease]]);
    expect(() => lease.assertHeld()).toThrow(
      'Lock a is no longer held, because its release has begun. Write nothing more under it.',
    );
    lease.loseBecause('late');
    lease.revoke('late');
    time.now += 3_001;
    expect([lease.held, lease.signal.aborted, releases.length]).toEqual([false, false, 1]);
    releases[0]?.resolve('released');
    expect(await released).toBe('released');
    expect([signal.aborted, leases.all, warnings]).toEqual([false, [], []]);
    expect(events.take()).toEqual([['lockReleased', { name: 'a', fence: 7, heldMs: 3_001 }]]);
  });

  it('is released after the renewal in flight, also if that fails', async () => {
    for (const succeeds of [true, false]) {
      const { lease, renewals, releases } = open();
      await time.pass(1_000);
      void lease.release();
      await turn();
      expect(releases).toEqual([]);
      if (succeeds) renewals[0]?.reply.resolve(true);
      else renewals[0]?.reply.reject(new Error('no reply'));
      await turn();
      expect(releases).toHaveLength(1);
    }
  });

  it('is lost if Redis has none at its release', async () => {
    const { lease, releases } = open();
    const released = lease.release();
    time.now += 2;
    releases[0]?.resolve('lost');
    expect(await released).toBe('lost');
    const reason = 'at its release, Redis had no lease of this holder any more';
    expect(events.take()).toEqual([['lockLost', { name: 'a', fence: 7, heldMs: 2, reason }]]);
    expect(warnings).toEqual([
      `Lock a was lost before its release: ${reason}. Another process may have had the lock while the work ran.`,
    ]);
  });

  it('counts as released if its release was sent again and another owner had the lock then', async () => {
    const { lease, releases } = open();
    const released = lease.release();
    releases[0]?.resolve('unknown');
    expect(await released).toBe('unknown');
    expect([events.take(), warnings]).toMatchObject([[['lockReleased', { name: 'a' }]], []]);
  });

  it('that was lost is released in Redis, too, and stays lost', async () => {
    const [{ lease, releases }, late] = [open(), open()];
    lease.revoke('it was taken');
    events.take();
    const released = lease.release();
    releases[0]?.resolve('released');
    expect(await released).toBe('lost');
    expect(events.take()).toEqual([]);
    time.now += 2_999;
    const lost = late.lease.release();
    late.releases[0]?.resolve('unknown');
    expect(await lost).toBe('lost');
    expect(events.take()).toEqual([ended]);
  });

  it('throws the error of its release, and is removed', async () => {
    const { lease, leases, releases } = open();
    const released = lease.release();
    const error = new Error('no reply');
    releases[0]?.reject(error);
    expect([await stateOf(released), leases.all, events.take()]).toEqual([error, [], []]);
  });
});
