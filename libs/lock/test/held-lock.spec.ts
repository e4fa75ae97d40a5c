import { LockEvents } from 'luanest/lock';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { HeldLock, releaseAndReport } from '../src/locks/held-lock';
import { openLease } from './lease-support';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { stateOf } from '../../../test/support/replies';

const time = new ManualTime();
const events = new Published(LockEvents);

function open() {
  const a = openLease({ sentAt: time.now, name: 'a', fence: 9 });
  const b = openLease({ sentAt: time.now, name: 'b', fence: 8 });
  return { a, b, one: new HeldLock([a.lease]), both: new HeldLock([a.lease, b.lease]) };
}

describe('a lock of several names', () => {
  it('has their names, their fences, and the highest fence', () => {
    const { both } = open();
    expect([both.names, both.fence, both.fenceOf('a'), both.fenceOf('b')]).toEqual([['a', 'b'], 9, 9, 8]);
    expect(() => both.fenceOf('c')).toThrow(
      'fenceOf(): This lock has the names a, b, but not "c". Pass one of its names.',
    );
  });

  it('is held while all of them are', () => {
    const { both, b } = open();
    expect(both.held).toBe(true);
    both.assertHeld();
    b.lease.loseBecause('it was taken');
    expect(both.held).toBe(false);
    expect(() => both.assertHeld()).toThrow('Lock b (fencing token 8) is lost: it was taken.');
  });

  it('has one signal, which fires with the first that is lost', () => {
    const { both, one, a, b } = open();
    const { signal } = both;
    expect([signal.aborted, both.signal === signal]).toEqual([false, true]);
    b.lease.loseBecause('it was taken');
    expect(signal.reason).toBe(b.lease.signal.reason);
    expect(one.signal).toBe(a.lease.signal);
    expect(one.signal.aborted).toBe(false);
  });

  it('extends each of them', async () => {
    const { both, a, b } = open();
    const extended = both.extend(5_000);
    await turn();
    expect([...a.renewals, ...b.renewals]).toMatchObject([{ leaseMs: 5_000 }, { leaseMs: 5_000 }]);
    a.renewals[0]?.reply.resolve(true);
    expect(await stateOf(extended)).toBe('pending');
    b.renewals[0]?.reply.resolve(true);
    expect(await stateOf(extended)).toBeUndefined();
  });

  it('extends by at least 10 ms, or as before', async () => {
    const { one, a } = open();
    await expect(one.extend(9)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(one.extend(9)).rejects.toThrow(/Lock\.extend.*leaseMs is 9/);
    await turn();
    expect(a.renewals).toEqual([]);
    void one.extend();
    await turn();
    expect(a.renewals).toMatchObject([{ leaseMs: 3_000 }]);
  });

  it.each([
    ['released', 'released', 'released'],
    ['released', 'lost', 'lost'],
    ['lost', 'unknown', 'lost'],
    ['unknown', 'lost', 'lost'],
    ['released', 'unknown', 'unknown'],
  ] as const)('releases each of them (%s, %s): %s', async (first, second, outcome) => {
    const { both, a, b } = open();
    const released = both.release();
    a.releases[0]?.resolve(first);
    b.releases[0]?.resolve(second);
    expect(await released).toBe(outcome);
  });

  it('throws the error of a release when all have ended', async () => {
    const { both, a, b } = open();
    const released = both.release();
    const error = new Error('lost reply');
    a.releases[0]?.reject(error);
    expect(await stateOf(released)).toBe('pending');
    b.releases[0]?.resolve('released');
    expect(await stateOf(released)).toBe(error);
  });
});

describe('a release whose error is published', () => {
  it.each([
    ['unknown', new NotSentError('not sent')],
    ['unknown', new ScriptRefusedError('refused', 'OOM')],
    ['unknown', new UnknownOutcomeError('no reply')],
    ['lost', new Error('the script failed')],
  ])('is %s after %s', async (outcome, error) => {
    const { both, a, b } = open();
    const released = releaseAndReport(both);
    a.releases[0]?.resolve('released');
    b.releases[0]?.reject(error);
    expect(await released).toBe(outcome);
    expect(events.take()).toContainEqual(['callFailed', { name: 'a, b', during: 'release', error }]);
  });

  it('returns its result', async () => {
    for (const outcome of ['released', 'lost', 'unknown'] as const) {
      const { one, a } = open();
      const released = releaseAndReport(one);
      a.releases[0]?.resolve(outcome);
      expect(await released).toBe(outcome);
    }
  });

  it('at the end of a scope throws only if the lock was lost', async () => {
    const [first, second, third, fourth] = [open(), open(), open(), open()];
    const ends = [first, second, third, fourth].map(({ one }) => one[Symbol.asyncDispose]());
    first.a.releases[0]?.resolve('released');
    second.a.releases[0]?.resolve('lost');
    third.a.releases[0]?.reject(new UnknownOutcomeError('no reply'));
    fourth.a.releases[0]?.resolve('unknown');
    const states = await Promise.all(ends.map(stateOf));
    expect(states).toMatchObject([undefined, { code: 'LOST' }, undefined, undefined]);
    expect((states[1] as Error).message).toMatch(/^Lock a was lost before its release/);
  });
});
