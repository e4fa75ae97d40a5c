import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, stateOf, type Pending } from '../../../test/support/replies';
import { Lease, LeaseBook, LostError, time as libTime, type LossCause } from '../src';

const time = new ManualTime();
const MAX_TIMER_MS = 2 ** 31 - 1;

class TestLease extends Lease {
  readonly causes: LossCause[] = [];
  readonly aborts: string[] = [];
  readonly alarms: number[] = [];
  readonly batch: string = 'a';
  before: () => void = () => undefined;

  lossOf(cause: LossCause): LostError {
    if (cause !== 'settled') this.causes.push(cause);
    return new LostError(cause);
  }

  override alarm(now: number): void {
    this.alarms.push(now - 1_000);
    this.before();
  }

  override beforeRenewal(): void {
    this.before();
  }

  protected override aborted(reason: Error): void {
    this.aborts.push(reason.message);
  }
}

/** Lease of a worker: its end by the clock is a suspicion, until Redis has lost it. */
class WorkerLease extends TestLease {
  protected override lapse(error: LostError): void {
    this.abort(error);
  }
}

interface Renewal {
  readonly leases: readonly Lease[];
  readonly deadlineMs: number;
  readonly at: number;
  readonly reply: Pending<readonly TestLease[]>;
}

/** Opens a book whose renewals the test answers. */
function open(parts: { batchOf?: (lease: TestLease) => unknown; maxBatch?: number } = {}) {
  const renewals: Renewal[] = [];
  const failures: unknown[] = [];
  const book = new LeaseBook<TestLease>({
    ...parts,
    renew(leases, deadlineMs) {
      const reply = pending<readonly TestLease[]>();
      renewals.push({ leases, deadlineMs, at: time.now - 1_000, reply });
      return reply.promise;
    },
    renewalFailed: (batch, error) => void failures.push([batch.length, error]),
  });
  const add = <T extends TestLease>(lease: T): T => {
    book.add(lease);
    return lease;
  };
  const lease = (ms = 3_000, renews = true, latestAt = Infinity, sentAt = time.now): TestLease =>
    add(new TestLease(sentAt, ms, renews, latestAt));
  return { book, renewals, failures, add, lease };
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a lease', () => {
  it('is held until its end by the local clock, to the millisecond, also if the timer is late', () => {
    const lease = open().lease();
    expect(lease.held).toBe(true);
    lease.assertHeld();
    time.now += 2_998;
    expect([lease.held, lease.aborts]).toEqual([true, []]);
    time.now += 1;
    expect([lease.held, lease.aborts, lease.over]).toEqual([false, ['time'], true]);
    expect(() => lease.assertHeld()).toThrow(new LostError('time'));
  });

  it('ends a millisecond sooner than its length, because Redis counts from the start of a millisecond', async () => {
    const { book, lease, renewals } = open();
    time.now += 0.936;
    const one = lease();
    expect(one.endsAt).toBe(time.now + 2_999);
    time.now += 0.5;
    void book.extend(one);
    renewals[0]?.reply.resolve([]);
    await turn();
    expect(one.endsAt).toBe(time.now + 2_999);
  });

  it('counts from when its call was sent', async () => {
    const lease = open().lease(3_000, false, Infinity, time.now - 1_000);
    const { signal } = lease;
    await time.pass(1_998);
    expect(signal.aborted).toBe(false);
    await time.pass(1);
    expect([signal.reason, lease.causes]).toEqual([new LostError('time'), ['time']]);
  });

  it('has one signal, which is made when it is first read, and has fired if the lease is lost', () => {
    const { lease } = open();
    const [early, late, unseen] = [lease(), lease(), lease()];
    const { signal } = early;
    early.lose(new LostError('taken'));
    late.lose(new LostError('taken'));
    time.now += 3_000;
    expect([early.signal === signal, signal.reason, late.signal.reason]).toEqual([
      true,
      new LostError('taken'),
      new LostError('taken'),
    ]);
    expect(unseen.signal.reason).toEqual(new LostError('time'));
  });

  it('is lost once, for the first reason', async () => {
    const { lease, renewals } = open();
    const one = lease();
    one.lose(new LostError('one'));
    one.lose(new LostError('two'));
    one.abort(new Error('three'));
    await time.pass(5_000);
    expect([one.aborts, one.causes, renewals, time.running]).toEqual([['one'], [], [], []]);
  });

  it('that is aborted is not held, but is renewed until it ends', async () => {
    const { lease, renewals } = open();
    const one = lease();
    const { signal } = one;
    one.abort(new Error('one'));
    one.abort(new Error('two'));
    expect([one.held, one.over, signal.reason]).toEqual([false, false, new Error('one')]);
    await time.pass(1_000);
    renewals[0]?.reply.resolve([]);
    await time.pass(1_000);
    renewals[1]?.reply.resolve([one]);
    await turn();
    await time.pass(5_000);
    expect([one.over, one.aborts, renewals.length, time.running]).toEqual([true, ['one'], 2, []]);
  });

  it('that is settled is not held, and is not renewed, lost or aborted', async () => {
    const { lease, renewals, book } = open();
    const one = lease();
    const { signal } = one;
    await time.pass(1_000);
    const inFlight = one.settle();
    expect([one.held, await stateOf(inFlight as Promise<void>)]).toEqual([false, 'pending']);
    expect(() => one.assertHeld()).toThrow(new LostError('settled'));
    renewals[0]?.reply.resolve([one]);
    expect(await stateOf(inFlight as Promise<void>)).toBeUndefined();
    one.abort(new Error('shutdown'));
    one.lose(new LostError('late'));
    await time.pass(5_000);
    expect([signal.aborted, one.aborts, renewals.length, book.all]).toEqual([false, [], 1, [one]]);
    expect(one.settle()).toBeUndefined();
  });

  it('ends at its latest end, although it was renewed', async () => {
    const { lease, renewals } = open();
    const one = lease(600, true, time.now + 1_000);
    for (let ms = 0; ms < 1_000; ms += 50) {
      expect(one.held).toBe(true);
      await time.pass(50);
      renewals.at(-1)?.reply.resolve([]);
      await turn();
    }
    expect([one.held, one.causes]).toEqual([false, ['latest']]);
    await time.pass(1_000);
    expect([renewals.length, time.running]).toEqual([4, []]);
  });

  it('that ended without a renewal ends by its time, not by its latest end', () => {
    const one = open().lease(600, true, time.now + 1_000);
    time.now += 700;
    expect([one.held, one.causes]).toEqual([false, ['time']]);
  });
});

describe('a renewal', () => {
  it('is due at each third, and counts from when it was sent', async () => {
    const { lease, renewals } = open();
    const one = lease();
    await time.pass(999);
    expect(renewals).toEqual([]);
    await time.pass(1);
    expect(renewals).toMatchObject([{ at: 1_000, leases: [one], deadlineMs: 1_000 }]);
    expect([time.running, time.keepsProcess]).toEqual([[1_999], false]);
    await time.pass(500);
    renewals[0]?.reply.resolve([]);
    await turn();
    expect(one.endsAt).toBe(4_999);
    await time.pass(500);
    expect(renewals).toHaveLength(2);
    await time.pass(1_998);
    expect(one.held).toBe(true);
    await time.pass(1);
    expect([one.held, one.causes]).toEqual([false, ['time']]);
  });

  it.each([
    [600, 200],
    [90, 50],
    [60, 39],
    [200, 67],
  ])('of a lease of %i ms waits for its reply for %i ms', async (leaseMs, deadlineMs) => {
    const { lease, renewals } = open();
    lease(leaseMs);
    await time.pass(Math.ceil(leaseMs / 3));
    expect(renewals).toMatchObject([{ deadlineMs }]);
  });

  it('is not sent for a lease that does not renew', async () => {
    const { lease, renewals } = open();
    const one = lease(3_000, false);
    expect(time.running).toEqual([2_999]);
    await time.pass(3_000);
    expect([renewals, one.held]).toEqual([[], false]);
  });

  it('ends the lease if Redis has none', async () => {
    const { lease, renewals } = open();
    const one = lease();
    const { signal } = one;
    await time.pass(1_000);
    renewals[0]?.reply.resolve([one]);
    await turn();
    expect([one.held, one.causes, signal.aborted]).toEqual([false, ['redis'], true]);
    await time.pass(2_000);
    expect([renewals.length, time.running]).toEqual([1, []]);
  });

  it.each([
    [0, 75],
    [0.5, 150],
  ])('is sent again soon after a failure, at random (%d)', async (random, afterMs) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const { lease, renewals, failures } = open();
    lease();
    await time.pass(1_000);
    const error = new Error('no reply');
    renewals[0]?.reply.reject(error);
    await turn();
    expect([failures, time.running]).toEqual([[[1, error]], [afterMs]]);
    await time.pass(afterMs);
    expect(renewals).toHaveLength(2);
  });

  it('fails, too, if the call throws at once', async () => {
    const failures: unknown[] = [];
    const renew = jest.fn(() => {
      throw new Error('closed');
    });
    const book = new LeaseBook<TestLease>({ renew, renewalFailed: (_batch, error) => void failures.push(error) });
    book.add(new TestLease(time.now, 3_000));
    await time.pass(1_000);
    expect(failures).toEqual([new Error('closed')]);
    await time.pass(300);
    expect(renew.mock.calls.length).toBeGreaterThan(1);
  });

  it('does not prolong a lease that has ended meanwhile, noticed or not', async () => {
    const { lease, renewals } = open();
    const [noticed, unnoticed] = [lease(), lease()];
    await time.pass(1_000);
    time.now += 2_000;
    expect(noticed.held).toBe(false);
    for (const { reply } of renewals) reply.resolve([]);
    await turn();
    expect([noticed.held, unnoticed.held, unnoticed.causes]).toEqual([false, false, ['time']]);
    await time.pass(5_000);
    expect(renewals).toHaveLength(2);
  });

  it('is not sent if the lease is settled or removed just before it', async () => {
    const { lease, renewals, book } = open();
    const [settled, removed] = [lease(), lease()];
    settled.before = () => void settled.settle();
    removed.before = () => book.remove(removed);
    await time.pass(5_000);
    expect([renewals, settled.aborts, book.all]).toEqual([[], [], [settled]]);
  });

  it('is not sent for a lease that was removed', async () => {
    const { lease, renewals, book } = open();
    book.remove(lease());
    await time.pass(1_000);
    expect([renewals, time.running]).toEqual([[], []]);
  });

  it('goes on for the lease of a worker after its end by the clock, and may bring it back', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const { add, renewals } = open();
    const one = add(new WorkerLease(time.now, 600));
    await time.pass(200);
    await time.pass(400);
    expect([one.aborts, one.over, renewals.length, time.running]).toEqual([['time'], false, 1, []]);
    await time.pass(1_000);
    renewals[0]?.reply.reject(new Error('no reply'));
    await turn();
    await time.pass(30);
    expect(renewals).toMatchObject([{ at: 200 }, { at: 1_630, deadlineMs: 200 }]);
    renewals[1]?.reply.resolve([]);
    await turn();
    expect([one.endsAt, time.running]).toEqual([3_229, [200]]);
    await time.pass(200);
    renewals[2]?.reply.resolve([one]);
    await turn();
    expect([one.over, one.causes, one.aborts]).toEqual([true, ['time', 'redis'], ['time']]);
  });
});

describe('an extension', () => {
  it('restarts the lease with its length, and renews it from then on', async () => {
    const { book, lease, renewals } = open();
    const one = lease();
    await time.pass(500);
    const extended = book.extend(one);
    expect(renewals).toMatchObject([{ leases: [one], deadlineMs: 2_499 }]);
    renewals[0]?.reply.resolve([]);
    await extended;
    expect(one.endsAt).toBe(4_499);
    await time.pass(999);
    expect(renewals).toHaveLength(1);
    await time.pass(1);
    expect(renewals).toHaveLength(2);
  });

  it('of a lease that does not renew does not begin to renew it', async () => {
    const { book, lease, renewals } = open();
    const one = lease(3_000, false);
    void book.extend(one);
    renewals[0]?.reply.resolve([]);
    await time.pass(2_998);
    expect([renewals.length, one.held]).toEqual([1, true]);
    await time.pass(1);
    expect(one.held).toBe(false);
  });

  it('changes the length, also for later renewals', async () => {
    const { book, lease, renewals } = open();
    const one = lease();
    const extended = book.extend(one, 6_000);
    expect([renewals[0]?.deadlineMs, one.endsAt]).toEqual([2_999, 3_999]);
    renewals[0]?.reply.resolve([]);
    await extended;
    expect(one.endsAt).toBe(6_999);
    await time.pass(2_000);
    expect(renewals[1]).toMatchObject({ at: 2_000, deadlineMs: 2_000 });
  });

  it('shortens the lease at once, although its reply is lost', async () => {
    const { book, lease, renewals } = open();
    const one = lease();
    const extended = book.extend(one, 500);
    expect([renewals[0]?.deadlineMs, one.endsAt, time.running]).toEqual([500, 1_499, [499]]);
    const error = new Error('no reply');
    renewals[0]?.reply.reject(error);
    expect([await stateOf(extended), one.endsAt]).toEqual([error, 1_499]);
  });

  it('to a shorter length that fails is followed by a renewal before the new end', async () => {
    const { book, lease, renewals } = open();
    const [one, two] = [lease(30_000), lease(30_000, false)];
    for (const each of [one, two]) void book.extend(each, 600).catch(() => undefined);
    for (const { reply } of renewals) reply.reject(new Error('no reply'));
    await time.pass(200);
    expect(renewals.slice(2)).toMatchObject([{ leases: [one], at: 200 }]);
    renewals[2]?.reply.resolve([]);
    await time.pass(400);
    expect([one.held, two.held, one.endsAt]).toEqual([true, false, 1_799]);
  });

  it('that fails keeps the end and the next renewal, and is not reported', async () => {
    const { book, lease, renewals, failures } = open();
    const one = lease();
    const extended = book.extend(one, 6_000);
    renewals[0]?.reply.reject(new Error('no reply'));
    expect([await stateOf(extended), one.endsAt]).toEqual([new Error('no reply'), 3_999]);
    await time.pass(1_000);
    expect([renewals.length, failures]).toEqual([2, []]);
  });

  it('waits for the renewal in flight, and is the only one while it is in flight', async () => {
    const { book, lease, renewals } = open();
    const one = lease();
    await time.pass(1_000);
    const both = [book.extend(one, 4_000), book.extend(one)];
    await turn();
    expect(renewals).toHaveLength(1);
    renewals[0]?.reply.reject(new Error('no reply'));
    await turn();
    expect(renewals).toHaveLength(2);
    await time.pass(1_500);
    expect(renewals).toHaveLength(2);
    renewals[1]?.reply.resolve([]);
    await turn();
    expect(renewals).toMatchObject([{ at: 1_000 }, { at: 1_000 }, { at: 2_500 }]);
    renewals[2]?.reply.resolve([]);
    await Promise.all(both);
    expect([one.leaseMs, one.endsAt]).toEqual([4_000, 7_499]);
  });

  it('waits for whole milliseconds until the end of the lease, and at least for one', () => {
    const { book, lease, renewals } = open();
    const [one, two] = [lease(3_000, false), lease(3_000, false)];
    time.now += 0.5;
    void book.extend(one).catch(() => undefined);
    time.now += 2_499.25;
    void book.extend(two).catch(() => undefined);
    expect(renewals).toMatchObject([{ deadlineMs: 2_998 }, { deadlineMs: 499 }]);
    const three = lease(3_000, false);
    time.now += 2_998.5;
    void book.extend(three).catch(() => undefined);
    expect(renewals[2]).toMatchObject({ deadlineMs: 1 });
  });

  it('throws if the lease is lost, and sends nothing if it was lost or settled before', async () => {
    const { book, lease, renewals } = open();
    const [one, two, three] = [lease(), lease(), lease()];
    await time.pass(1_000);
    const extended = [one, two, three].map((each) => book.extend(each).catch((error: unknown) => error));
    two.abort(new LostError('shutdown'));
    void three.settle();
    for (const { reply } of renewals) reply.resolve([]);
    await turn();
    expect(renewals).toHaveLength(4);
    renewals[3]?.reply.resolve([one]);
    expect(await Promise.all(extended)).toEqual([
      new LostError('redis'),
      new LostError('shutdown'),
      new LostError('settled'),
    ]);
    await expect(book.extend(one)).rejects.toThrow('redis');
  });
});

describe('a book', () => {
  it('renews in batches what has something in common, and what is due soon with what is due', async () => {
    const { add, renewals } = open({ batchOf: (lease) => lease.batch, maxBatch: 2 });
    const of = (batch: string, sentAt = time.now): TestLease =>
      add(Object.assign(new TestLease(sentAt, 3_000), { batch }));
    const [a, b, later, c, muchLater] = [of('x'), of('y'), of('x', time.now + 30), of('x'), of('y', time.now + 31)];
    await time.pass(1_000);
    expect(renewals.map(({ leases }) => leases)).toEqual([[a, later], [b], [c]]);
    renewals[0]?.reply.resolve([later]);
    await turn();
    expect([a.endsAt, later.over, a.over]).toEqual([4_999, true, false]);
    await time.pass(31);
    expect(renewals[3]?.leases).toEqual([muchLater]);
  });

  it('reports a batch that failed once, and sends it again', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const { lease, renewals, failures } = open({ batchOf: () => 'all' });
    const both = [lease(), lease()];
    await time.pass(1_000);
    renewals[0]?.reply.reject(new Error('no reply'));
    await time.pass(150);
    expect([failures, renewals.length]).toEqual([[[2, new Error('no reply')]], 2]);
    expect(renewals[1]?.leases).toEqual(both);
  });

  it('has one timer, for the first lease that must act', () => {
    const { lease, book } = open();
    const setTimer = jest.spyOn(libTime, 'setTimer');
    const first = lease();
    for (let i = 0; i < 100; i++) book.remove(lease());
    expect([time.running, setTimer.mock.calls.length, book.all]).toEqual([[1_000], 1, [first]]);
    lease(100);
    expect(time.running).toEqual([34]);
    lease(600);
    expect(time.running).toEqual([34]);
  });

  it('waits no longer than a timer can', async () => {
    const one = open().lease(2 ** 32, false);
    expect(time.running).toEqual([MAX_TIMER_MS]);
    await time.pass(MAX_TIMER_MS);
    await time.pass(MAX_TIMER_MS);
    expect([time.running, one.aborts]).toEqual([[1], []]);
    await time.pass(1);
    expect(one.aborts).toEqual(['time']);
  });

  it('looks at many leases less often', () => {
    const { lease } = open();
    for (let i = 0; i < 20_000; i++) lease(30_000, false);
    lease(10);
    expect(time.running).toEqual([21]);
  });

  it('removes leases in any order, also twice', () => {
    const { lease, book } = open();
    const [a, b, c] = [lease(), lease(), lease()];
    book.remove(a);
    book.remove(a);
    expect([book.all, book.all.map(({ index }) => index)]).toEqual([[c, b], [0, 1]]); // prettier-ignore
    book.remove(b);
    book.remove(c);
    expect(book.all).toEqual([]);
  });

  it('can be cleared: then it renews nothing, and has no timer until a lease is added', async () => {
    const { lease, book, renewals } = open();
    const [a] = [lease(), lease()];
    book.clear();
    expect([book.all, time.running]).toEqual([[], []]);
    book.remove(a);
    await time.pass(5_000);
    expect(renewals).toEqual([]);
    const later = lease();
    await time.pass(1_000);
    expect(renewals.map(({ leases }) => leases)).toEqual([[later]]);
  });

  it('looks at all leases, although one is removed meanwhile', async () => {
    const { lease, book, renewals } = open();
    const [a, b, c] = [lease(), lease(), lease()];
    a.before = () => {
      book.remove(b);
      book.remove(a);
    };
    await time.pass(1_000);
    expect(renewals.map(({ leases }) => leases)).toEqual([[c]]);
  });

  it('calls the alarm of a lease once, also of one that is lost', async () => {
    const { lease, book } = open();
    const one = lease();
    const gone = lease();
    gone.lose(new LostError('taken'));
    for (const each of [one, gone]) {
      each.alarmAt = time.now + 50;
      book.watch(each);
    }
    expect(time.running).toEqual([50]);
    await time.pass(500);
    expect([one.alarms, gone.alarms]).toEqual([[50], [50]]);
    book.remove(one);
    one.alarmAt = time.now;
    book.watch(one);
    await time.pass(100);
    expect(one.alarms).toEqual([50]);
  });

  it('counts a lease that another call has restarted from when that call was sent', async () => {
    const { add, book, renewals } = open();
    const one = add(new WorkerLease(time.now, 600));
    await time.pass(100);
    book.restarted(one, time.now - 40);
    await time.pass(159);
    expect(renewals).toEqual([]);
    await time.pass(1);
    expect([renewals.length, one.endsAt]).toEqual([1, 1_659]);
    // An older call that is answered later does not shorten it.
    book.restarted(one, time.now - 250);
    expect(one.endsAt).toBe(1_659);
    renewals[0]?.reply.resolve([]);
    await turn();
    expect(one.endsAt).toBe(1_859);
  });
});

describe('a renewal at once', () => {
  it('does not wait for a third of the lease', async () => {
    const { book, renewals, lease } = open();
    const held = lease(3_000);
    lease(3_000);
    await time.pass(100);
    book.renewNow(held);
    await time.pass(1);
    expect(renewals.map(({ leases, at }) => [leases, at])).toEqual([[[held], 101]]);
    renewals[0]?.reply.resolve([held]);
    await turn();
    expect([held.over, held.causes]).toEqual([true, ['redis']]);
  });

  it.each([
    ['succeeds', (reply: Pending<readonly TestLease[]>) => reply.resolve([])],
    ['fails', (reply: Pending<readonly TestLease[]>) => reply.reject(new Error('down'))],
  ])('follows the renewal in flight, which may be older than its cause, when that %s', async (_, end) => {
    const { book, renewals, lease } = open();
    const held = lease(3_000);
    await time.pass(1_000);
    book.renewNow(held);
    await time.pass(10);
    expect(renewals).toHaveLength(1);
    end((renewals[0] as Renewal).reply);
    await turn();
    await time.pass(1);
    expect(renewals).toHaveLength(2);
  });
});
