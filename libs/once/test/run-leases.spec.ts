import { LostError } from 'luanest/script-registry';
import { OnceService } from 'luanest/once';
import { retryLater } from '../../internal/src';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, stateOf, type Pending } from '../../../test/support/replies';
import { resolveOptions } from '../src/once.options';
import { OnceStore } from '../src/once.store';
import { mustStop, Runs } from '../src/runs/runs';

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
  it('is renewed each third of its length, with a deadline that leaves time for another try', async () => {
    const { run, renewals, replies } = begin();
    await time.pass(199);
    expect(renewals).toEqual([]);
    await time.pass(1);
    replies[0]?.resolve({ status: 'renewed' });
    await time.pass(200);
    const options = { leaseMs: 600, deadlineMs: 200 };
    expect(renewals).toEqual([[200, options], [400, options]]); // prettier-ignore
    // The second reply does not come, and the first renewal was sent at 200 ms.
    await time.pass(398);
    expect(run.signal.aborted).toBe(false);
    await time.pass(1);
    expect([run.signal.aborted, reasonOf(run.signal)]).toEqual([
      true,
      lost('the lease of its claim was not renewed in time'),
    ]);
    expect(run.fence).toBe(7);
  });

  it('that was renewed counts from when the renewal was sent, not from its reply', async () => {
    const { run, replies } = begin({ leaseMs: 900 });
    const { signal } = run;
    await time.pass(300);
    await time.pass(450);
    replies[0]?.resolve({ status: 'renewed' });
    await turn();
    // Sent at 300 ms, so it ends at 1,199 ms. A further renewal is in flight, without a reply.
    await time.pass(448);
    expect(signal.aborted).toBe(false);
    await time.pass(1);
    expect(reasonOf(signal)).toBe(lost('the lease of its claim was not renewed in time'));
  });

  it('is lost if Redis says so', async () => {
    const { run, replies } = begin();
    const { signal } = run;
    await time.pass(200);
    replies[0]?.resolve({ status: 'lost' });
    await turn();
    expect(reasonOf(signal)).toBe(
      lost('its claim was lost: the lease has ended, another call has the id, or Redis lost the key'),
    );
    expect(() => run.assertHeld()).toThrow(LostError);
  });

  it('is tried again after a renewal that failed', async () => {
    const { run, renewals, replies } = begin();
    await time.pass(200);
    replies[0]?.reject(new Error('down'));
    await time.pass(45);
    replies[1]?.resolve({ status: 'renewed' });
    await time.pass(500);
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
    expect(reasonOf(signal)).toBe(lost('it has run for 2000 ms or longer (maxLeaseMs)'));
    const sent = renewals.length;
    await time.pass(1_000);
    expect(renewals).toHaveLength(sent);
  });

  it('ends after leaseMs if that is longer than maxLeaseMs', async () => {
    const { run } = begin({ leaseMs: 600, maxLeaseMs: 100 });
    await time.pass(598);
    expect(run.signal.aborted).toBe(false);
    await time.pass(1);
    expect(run.signal.aborted).toBe(true);
  });

  it('is not renewed after it was settled, also if that happens just before a renewal', async () => {
    const settling = begin({ beforeRenewal: () => void settling.run.settle() });
    const settled = begin();
    void settled.run.settle();
    await time.pass(1_000);
    expect([settling.renewals, settled.renewals, settling.run.signal.aborted, settled.run.signal.aborted]).toEqual([
      [],
      [],
      false,
      false,
    ]);
    expect(() => settled.run.assertHeld()).toThrow(lost('its work has already ended'));
  });

  it.each([
    ['its time was over', () => undefined],
    ['Redis lost it', (replies: Pending<{ status: string }>[]) => replies[0]?.resolve({ status: 'lost' })],
  ])(
    'is still looked at each third of its length after %s, because the client of a route may leave later',
    async (_, end) => {
      const looks: number[] = [];
      const { run, runs, replies, renewals } = begin({ beforeRenewal: () => void looks.push(time.now - 1_000) });
      await time.pass(200);
      end(replies);
      await time.pass(800);
      expect(run.over).toBe(true);
      const before = looks.length;
      await time.pass(600);
      expect([looks.length - before, renewals.length, time.keepsProcess]).toEqual([3, 1, false]);
      runs.end(run);
      await time.pass(600);
      expect([looks.length - before, time.running]).toEqual([3, []]);
    },
  );

  it('is not lost by a reply after it was settled', async () => {
    const { run, replies } = begin();
    const { signal } = run;
    await time.pass(200);
    void run.settle();
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
    expect(() => run.assertHeld()).toThrow(lost('the lease of its claim was not renewed in time'));
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

describe('a run whose work is not done', () => {
  const error = new Error('the work failed');
  const later = retryLater({ delayMs: 5 });

  it.each([
    ['failed', 'at-least-once', 'once.release', 'released', () => Promise.reject(error), error],
    ['failed', 'at-most-once', 'once.confirm', { status: 'confirmed' }, () => Promise.reject(error), error],
    [
      'asks for a retry',
      'at-least-once',
      'once.release',
      'released',
      () => Promise.resolve(later),
      { status: 'ran', result: later, confirmed: false },
    ],
  ] as const)(
    'because it %s, %s, ends when Redis has replied to its %s, so that the caller can repeat it at once',
    async (_why, delivery, script, reply, work, ends) => {
      const registry = new FakeRegistry();
      const once = new OnceService(new OnceStore(registry.asRegistry), resolveOptions({}));
      const ran = once.run<unknown>('id', { delivery }, work);
      await turn();
      registry.last.reply.resolve({ status: 'claimed', text: '12 34' });
      await turn();
      expect(registry.scripts).toEqual(['once.claim', script]);
      await time.pass(10_000);
      expect(await stateOf(ran)).toBe('pending');
      registry.last.reply.resolve(reply);
      await turn();
      expect(await stateOf(ran)).toEqual(ends);
    },
  );
});
