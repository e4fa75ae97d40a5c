import { LostError } from 'luanest/script-registry';
import { LOCK_CHANNELS } from 'luanest/lock';
import { time as libTime } from '../../internal/src';
import { openLease } from './lease-support';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';

describe('a lease', () => {
  const time = new ManualTime();
  const events = new Published(LOCK_CHANNELS);
  const open = (start: Partial<Parameters<typeof openLease>[0]> = {}) => openLease({ sentAt: time.now, ...start });
  const ended = ['lockLost', { name: 'a', fence: 7, heldMs: 3_000, reason: 'the lease ended' }];
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is held until its end by the local clock, to the millisecond, also if its timer is late', () => {
    const { lease } = open();
    expect([lease.name, lease.fence, lease.held, lease.leftMs]).toEqual(['a', 7, true, 3_000]);
    lease.assertHeld();
    time.now += 2_999;
    expect([lease.held, lease.leftMs]).toEqual([true, 1]);
    time.now += 1;
    expect([lease.held, lease.leftMs]).toEqual([false, 0]);
    expect(() => lease.assertHeld()).toThrow('Lock a (fence 7) may no longer be used: the lease ended.');
    expect(events.take()).toEqual([ended]);
    expect(time.running).toEqual([]);
  });

  it('counts from when its acquisition was sent', async () => {
    const { lease } = open({ sentAt: time.now - 1_000, renew: false });
    expect(lease.leftMs).toBe(2_000);
    await time.pass(2_000);
    expect(events.take()).toEqual([ended]);
  });

  it('has no time left if it ends while the time is read', () => {
    const { lease } = open();
    const end = time.now + 3_000;
    jest
      .spyOn(libTime, 'monotonicMs')
      .mockReturnValueOnce(end - 1)
      .mockReturnValueOnce(end + 1);
    expect(lease.leftMs).toBe(0);
  });

  it('fires its signal at its end', async () => {
    const { lease } = open({ renew: false });
    const { signal } = lease;
    expect(lease.signal).toBe(signal);
    await time.pass(2_999);
    expect(signal.aborted).toBe(false);
    await time.pass(1);
    expect(signal.reason).toBeInstanceOf(LostError);
    expect([time.running, events.take()]).toEqual([[], [ended]]);
  });

  it('has a signal that has fired if the lease was lost before', () => {
    const [{ lease }, late] = [open(), open()];
    lease.lose('it was taken');
    expect(lease.signal.reason).toMatchObject({
      message: 'Lock a (fence 7) may no longer be used: it was taken.',
    });
    time.now += 3_000;
    expect(late.lease.signal.aborted).toBe(true);
  });

  it('has a timer for its next renewal or its end, which lets the process end', () => {
    open();
    open({ renew: false });
    open({ leaseMs: 100 });
    expect(time.running).toEqual([1_000, 3_000, 34]);
    expect(time.keepsProcess).toBe(false);
  });

  it('may be longer than the longest timer', async () => {
    const { renewals } = open({ leaseMs: 3 * 2 ** 32 });
    expect(time.running).toEqual([2 ** 31 - 1]);
    await time.pass(2 ** 31 - 1);
    await time.pass(2 ** 31 - 1);
    expect([time.running, renewals]).toEqual([[2], []]);
    await time.pass(2);
    expect(renewals).toHaveLength(1);
  });

  it('that is lost is lost once, and has no timer', () => {
    const { lease } = open();
    time.now += 5;
    lease.lose('one');
    lease.lose('two');
    lease.revoke('three');
    expect(events.take()).toEqual([['lockLost', { name: 'a', fence: 7, heldMs: 5, reason: 'one' }]]);
    expect([lease.held, time.running]).toEqual([false, []]);
    lease.watch();
    time.now += 3_000;
    expect([lease.held, time.running, events.take()]).toEqual([false, [], []]);
  });

  it('that is revoked is not held, but is renewed until its end', async () => {
    const { lease, renewals } = open();
    const { signal } = lease;
    lease.revoke('one');
    lease.revoke('two');
    expect([lease.held, lease.leftMs]).toEqual([false, 0]);
    expect(signal.reason).toMatchObject({ message: 'Lock a (fence 7) may no longer be used: one.' });
    await time.pass(1_000);
    renewals[0]?.reply.resolve(true);
    await time.pass(1_000);
    expect([lease.held, renewals.length]).toEqual([false, 2]);
    renewals[1]?.reply.resolve(false);
    await turn();
    expect([time.running, events.take()]).toEqual([
      [],
      [['lockLost', { name: 'a', fence: 7, heldMs: 0, reason: 'one' }]],
    ]);
  });

  it('is released once, and is not held from when its release begins', async () => {
    const { lease, releases } = open();
    const { signal } = lease;
    const released = lease.release();
    expect([lease.held, lease.leftMs, lease.release() === released, time.running]).toEqual([false, 0, true, []]);
    expect(() => lease.assertHeld()).toThrow('Lock a is no longer held: its release has begun.');
    lease.lose('late');
    lease.revoke('late');
    time.now += 3_001;
    expect([lease.held, lease.signal.aborted, releases.length]).toEqual([false, false, 1]);
    releases[0]?.resolve(true);
    expect(await released).toBe('released');
    expect([signal.aborted, time.running]).toEqual([false, []]);
    expect(events.take()).toEqual([['lockReleased', { name: 'a', fence: 7, heldMs: 3_001 }]]);
  });

  it('is lost if Redis has none at its release', async () => {
    const { lease, releases } = open();
    const released = lease.release();
    time.now += 2;
    releases[0]?.resolve(false);
    expect(await released).toBe('lost');
    const reason = 'Redis had no lease of this holder at the release';
    expect(events.take()).toEqual([['lockLost', { name: 'a', fence: 7, heldMs: 2, reason }]]);
  });

  it('that was lost is released in Redis, too, and stays lost', async () => {
    const [{ lease, releases }, late] = [open(), open()];
    lease.revoke('it was taken');
    events.take();
    const released = lease.release();
    releases[0]?.resolve(true);
    expect(await released).toBe('lost');
    expect(events.take()).toEqual([]);
    time.now += 3_000;
    const lost = late.lease.release();
    late.releases[0]?.resolve(true);
    expect(await lost).toBe('lost');
    expect(events.take()).toEqual([ended]);
  });

  it('throws the error of its release', async () => {
    const { lease, releases } = open();
    const released = lease.release();
    const error = new Error('lost reply');
    releases[0]?.reject(error);
    expect(await stateOf(released)).toBe(error);
    expect(events.take()).toEqual([]);
  });
});

describe('a lease with a keeper', () => {
  const time = new ManualTime();
  const calls: string[] = [];
  const keeper = { watchWithinMs: 1_000, add: () => void calls.push('add'), remove: () => void calls.push('remove') };
  const open = (start: Partial<Parameters<typeof openLease>[0]> = {}) =>
    openLease({ sentAt: time.now, keeper, ...start });
  beforeEach(() => void calls.splice(0));

  it('has a timer of its own only if it must act before the keeper calls', () => {
    open();
    open({ renew: false, leaseMs: 1_000 });
    expect([calls, time.running]).toEqual([['add', 'add'], []]);
    open({ leaseMs: 2_997 });
    open({ renew: false, leaseMs: 999 });
    expect(time.running).toEqual([999, 999]);
  });

  it('starts its timer once when the keeper calls', () => {
    const { lease } = open();
    time.now += 250;
    lease.watch();
    lease.watch();
    expect(time.running).toEqual([750]);
  });

  it('is renewed soon if the keeper calls late', async () => {
    const { lease, renewals } = open();
    time.now += 1_500;
    lease.watch();
    expect(time.running).toEqual([1]);
    await time.pass(1);
    expect(renewals).toHaveLength(1);
  });

  it('is removed when it is lost, but not when it is revoked', () => {
    const { lease } = open();
    lease.revoke('shutdown');
    expect(calls).toEqual(['add']);
    lease.lose('it was taken');
    expect(calls).toEqual(['add', 'remove']);
    time.now += 3_000;
    const late = open({ sentAt: time.now - 3_000 });
    late.lease.watch();
    expect(calls).toEqual(['add', 'remove', 'add', 'remove']);
  });

  it('is removed when its release has ended', async () => {
    const [one, two] = [open(), open()];
    void one.lease.release();
    void two.lease.release().catch(() => undefined);
    one.lease.lose('late');
    await turn();
    expect(calls).toEqual(['add', 'add']);
    one.releases[0]?.resolve(true);
    await turn();
    expect(calls).toEqual(['add', 'add', 'remove']);
    two.releases[0]?.reject(new Error('lost reply'));
    await turn();
    expect(calls).toEqual(['add', 'add', 'remove', 'remove']);
  });
});
