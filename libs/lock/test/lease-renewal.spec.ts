import { LOCK_CHANNELS } from 'luanest/lock';
import { time as libTime } from '../../internal/src';
import { openLease } from './lease-support';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';

const time = new ManualTime();
const events = new Published(LOCK_CHANNELS);
const open = (start: Partial<Parameters<typeof openLease>[0]> = {}) => openLease({ sentAt: time.now, ...start });
const lost = { code: 'LOST' };
afterEach(() => {
  jest.restoreAllMocks();
});

describe('the renewal of a lease', () => {
  it('is sent at each third, and counts from when it was sent', async () => {
    const { lease, renewals } = open();
    await time.pass(999);
    expect(renewals).toEqual([]);
    await time.pass(1);
    expect(renewals).toMatchObject([{ leaseMs: 3_000, timeoutMs: 1_000 }]);
    expect(time.running).toEqual([2_000]);
    await time.pass(10);
    renewals[0]?.reply.resolve(true);
    await turn();
    expect([lease.leftMs, time.running]).toEqual([2_990, [990]]);
    await time.pass(989);
    expect(renewals).toHaveLength(1);
    await time.pass(1);
    expect(renewals).toHaveLength(2);
  });

  it.each([
    [600, 200],
    [90, 50],
    [60, 40],
  ])('of %i ms waits for its reply for %i ms', async (leaseMs, timeoutMs) => {
    const { renewals } = open({ leaseMs });
    await time.pass(leaseMs / 3);
    expect(renewals).toMatchObject([{ leaseMs, timeoutMs }]);
  });

  it('waits for whole milliseconds', async () => {
    const { renewals } = open({ leaseMs: 200 });
    await time.pass(67);
    expect(renewals).toMatchObject([{ timeoutMs: 67 }]);
  });

  it('is not sent without `renew`', async () => {
    const { lease, renewals } = open({ renew: false });
    const extended = lease.extend();
    await turn();
    renewals[0]?.reply.resolve(true);
    await extended;
    await time.pass(2_999);
    expect([renewals.length, lease.held]).toEqual([1, true]);
    await time.pass(1);
    expect([renewals.length, lease.held]).toEqual([1, false]);
  });

  it('ends the lease if Redis has none', async () => {
    const { lease, renewals } = open();
    const { signal } = lease;
    await time.pass(1_000);
    renewals[0]?.reply.resolve(false);
    await turn();
    const reason = 'Redis had no lease of this holder at a renewal';
    expect(events.take()).toEqual([['lockLost', { name: 'a', fence: 7, heldMs: 1_000, reason }]]);
    expect([signal.aborted, lease.held, time.running]).toEqual([true, false, []]);
  });

  it.each([
    [0, 75],
    [0.5, 150],
  ])('is sent again soon after a failure, at random (%d)', async (random, afterMs) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const { renewals } = open();
    await time.pass(1_000);
    const error = new Error('lost reply');
    renewals[0]?.reply.reject(error);
    await turn();
    expect(events.take()).toEqual([['callFailed', { name: 'a', during: 'renew', error }]]);
    expect(time.running).toEqual([afterMs]);
    await time.pass(afterMs);
    expect(renewals).toHaveLength(2);
  });

  it('does not prolong a lease that has ended meanwhile', async () => {
    const [{ lease, renewals }, late] = [open(), open()];
    await time.pass(3_000);
    renewals[0]?.reply.resolve(true);
    await turn();
    expect([lease.held, time.running]).toEqual([false, []]);
    expect(events.take()).toMatchObject([
      ['lockLost', { reason: 'the lease ended' }],
      ['lockLost', { reason: 'the lease ended' }],
    ]);
    late.renewals[0]?.reply.resolve(false);
    await turn();
    expect(events.take()).toEqual([]);
  });

  it('does not prolong a lease whose end was not noticed yet', async () => {
    const { lease, renewals } = open();
    await time.pass(1_000);
    time.now += 2_000;
    renewals[0]?.reply.resolve(true);
    await turn();
    expect(lease.held).toBe(false);
    expect(events.take()).toMatchObject([['lockLost', { reason: 'the lease ended' }]]);
  });

  it('is not sent if the lease is lost just when it is due', async () => {
    const setTimer = jest.spyOn(libTime, 'setTimer');
    const { lease, renewals } = open();
    time.now += 1_000;
    setTimer.mock.calls[0]?.[0]();
    lease.lose('it was taken');
    await turn();
    expect(renewals).toEqual([]);
  });

  it('ends before the release is sent', async () => {
    for (const succeeds of [true, false]) {
      const { lease, renewals, releases } = open();
      await time.pass(1_000);
      void lease.release();
      await turn();
      expect(releases).toEqual([]);
      if (succeeds) renewals[0]?.reply.resolve(true);
      else renewals[0]?.reply.reject(new Error('lost reply'));
      await turn();
      expect([releases.length, time.running]).toEqual([1, []]);
    }
  });
});

describe('extend()', () => {
  it('restarts the lease with its length, and renews it from then on', async () => {
    const { lease, renewals } = open();
    await time.pass(500);
    const extended = lease.extend();
    await turn();
    expect(renewals).toMatchObject([{ leaseMs: 3_000, timeoutMs: 2_500 }]);
    renewals[0]?.reply.resolve(true);
    expect(await stateOf(extended)).toBeUndefined();
    expect([lease.leftMs, time.running]).toEqual([3_000, [1_000]]);
  });

  it('waits for whole milliseconds until the end of the lease, and at least for one', async () => {
    const [one, two] = [open(), open({ renew: false })];
    time.now += 0.5;
    void one.lease.extend().catch(() => undefined);
    await turn();
    time.now += 2_999;
    void two.lease.extend().catch(() => undefined);
    await turn();
    expect([...one.renewals, ...two.renewals]).toMatchObject([{ timeoutMs: 2_999 }, { timeoutMs: 1 }]);
  });

  it('changes the length of the lease, also for later renewals', async () => {
    const { lease, renewals } = open();
    const extended = lease.extend(6_000);
    await turn();
    expect(renewals).toMatchObject([{ leaseMs: 6_000, timeoutMs: 3_000 }]);
    expect(lease.leftMs).toBe(3_000);
    renewals[0]?.reply.resolve(true);
    await extended;
    expect([lease.leftMs, time.running]).toEqual([6_000, [2_000]]);
    await time.pass(2_000);
    expect(renewals[1]).toMatchObject({ leaseMs: 6_000, timeoutMs: 2_000 });
  });

  it('shortens the lease at once, because Redis may have done so although the reply is lost', async () => {
    const { lease, renewals } = open();
    const extended = lease.extend(500);
    await turn();
    expect(renewals).toMatchObject([{ leaseMs: 500, timeoutMs: 500 }]);
    expect([lease.leftMs, time.running]).toEqual([500, [500]]);
    const error = new Error('lost reply');
    renewals[0]?.reply.reject(error);
    expect(await stateOf(extended)).toBe(error);
    expect(lease.leftMs).toBe(500);
  });

  it('that fails keeps the end of the lease', async () => {
    const { lease, renewals } = open();
    const extended = lease.extend(6_000);
    await turn();
    const error = new Error('lost reply');
    renewals[0]?.reply.reject(error);
    expect(await stateOf(extended)).toBe(error);
    expect([lease.leftMs, time.running]).toEqual([3_000, [1_000]]);
    await time.pass(1_000);
    expect(renewals[1]).toMatchObject({ leaseMs: 6_000 });
    expect(events.take()).toEqual([]);
  });

  it('waits for the renewal in flight, also if that fails', async () => {
    const { lease, renewals } = open();
    await time.pass(1_000);
    const extended = lease.extend();
    await turn();
    expect(renewals).toHaveLength(1);
    renewals[0]?.reply.reject(new Error('lost reply'));
    await turn();
    expect(renewals).toHaveLength(2);
    renewals[1]?.reply.resolve(true);
    expect(await stateOf(extended)).toBeUndefined();
  });

  it('is the only renewal while it is in flight', async () => {
    const { lease, renewals } = open();
    const both = [lease.extend(), lease.extend()];
    await turn();
    expect(renewals).toHaveLength(1);
    renewals[0]?.reply.resolve(true);
    await turn();
    expect(renewals).toHaveLength(2);
    await time.pass(1_000);
    renewals[1]?.reply.resolve(true);
    await Promise.all(both);
    await turn();
    expect(renewals).toHaveLength(2);
  });

  it('throws if Redis has no lease', async () => {
    const { lease, renewals } = open();
    const extended = lease.extend();
    await turn();
    renewals[0]?.reply.resolve(false);
    await expect(extended).rejects.toMatchObject(lost);
  });

  it('throws at once if the lease is not held, and sends nothing if it was lost meanwhile', async () => {
    const { lease, renewals } = open();
    await time.pass(1_000);
    const waiting = lease.extend();
    await turn();
    lease.revoke('shutdown');
    expect(await stateOf(lease.extend())).toMatchObject(lost);
    renewals[0]?.reply.resolve(true);
    expect(await stateOf(waiting)).toMatchObject(lost);
    expect(renewals).toHaveLength(1);
  });
});
