import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, stateOf } from '../../../test/support/replies';
import { draining } from '../../internal/src';
import { mustStop } from '../src/runs/runs';
import { Runs } from '../src/runs/runs';

const time = new ManualTime();
const STOPS = 'the app is shutting down';
const lost = (_id: string, because: string): string => mustStop(because).message;
const held = (leaseMs = 60_000) =>
  ({
    claim: { fence: 1, renew: () => new Promise(() => undefined) },
    claimedAt: time.now,
    leaseMs,
    maxLeaseMs: 60_000,
  }) as never;

describe('a shutdown', () => {
  it('ends at once without runs and calls', async () => {
    const closed = new Runs({ drainMs: 100, abortGraceMs: 50 }).close();
    await turn();
    expect(await stateOf(closed)).toBeUndefined();
  });

  it('waits for runs and calls, and leaves their signals alone if they end in time', async () => {
    const runs = new Runs({ drainMs: 1_000, abortGraceMs: 50 });
    const run = runs.begin('a', held());
    const { signal } = run;
    const call = {};
    runs.enter(call);
    const closed = runs.close();
    await time.pass(50);
    expect(await stateOf(closed)).toBe('pending');
    runs.end(run);
    await time.pass(20);
    expect(await stateOf(closed)).toBe('pending');
    runs.leave(call);
    await closed;
    expect(signal.aborted).toBe(false);
  });

  it('fires the signals after drainMs, and waits abortGraceMs more', async () => {
    const runs = new Runs({ drainMs: 100, abortGraceMs: 50 });
    const [run, other] = [runs.begin('a', held()), runs.begin('b', held(30_000))];
    const closed = runs.close();
    await time.pass(99);
    expect([run.signal.aborted, await stateOf(closed)]).toEqual([false, 'pending']);
    await time.pass(1);
    expect((run.signal.reason as Error).message).toBe(lost('a', STOPS));
    expect((other.signal.reason as Error).message).toBe(lost('b', STOPS));
    await time.pass(40);
    expect(await stateOf(closed)).toBe('pending');
    await time.pass(30);
    expect(await stateOf(closed)).toBeUndefined();
  });

  it('fires the signals of runs that begin meanwhile, and after it', async () => {
    const runs = new Runs({ drainMs: 100, abortGraceMs: 50 });
    await runs.close();
    const during = runs.begin('a', held());
    const unprotected = runs.unprotected('b');
    expect([during.signal.aborted, unprotected.signal.aborted]).toEqual([false, false]);
    await time.pass(100);
    const after = runs.begin('c', held());
    expect([during.signal.aborted, (after.signal.reason as Error).message]).toEqual([true, lost('c', STOPS)]);
    expect((unprotected.signal.reason as Error).message).toBe(lost('', STOPS));
    expect(time.keepsProcess).toBe(false);
  });

  it('leaves runs alone, also after drainMs, while other modules drain: their handlers may need them', async () => {
    const drain = pending<void>();
    void draining(drain.promise);
    const runs = new Runs({ drainMs: 100, abortGraceMs: 50 });
    const run = runs.begin('a', held());
    const closed = runs.close();
    await time.pass(5_000);
    expect([run.signal.aborted, runs.begin('b', held()).signal.aborted]).toEqual([false, false]);
    expect(await stateOf(closed)).toBe('pending');
    drain.resolve();
    await turn();
    expect((run.signal.reason as Error).message).toBe(lost('a', STOPS));
    runs.end(run);
    await closed;
  });

  it('does not wait for runs and calls that begin later', async () => {
    const runs = new Runs({ drainMs: 1_000, abortGraceMs: 50 });
    const run = runs.begin('a', held());
    const closed = runs.close();
    runs.begin('b', held());
    runs.enter({});
    runs.end(run);
    runs.end(run);
    await closed;
    expect(runs.current()).toBeUndefined();
  });
});

describe('a run without a claim', () => {
  it('is never held, and has one signal of its own', () => {
    const run = new Runs({ drainMs: 0, abortGraceMs: 0 }).unprotected('id');
    expect([run.id, run.fence, run.signal === run.signal, run.signal.aborted]).toEqual(['id', 0, true, false]);
    expect(() => run.assertHeld()).toThrow(
      lost('id', "it runs without a claim: Redis failed at the claim, and onRedisError is 'run'"),
    );
  });
});

describe('the current run', () => {
  it('is that of the body, and of all that the body awaits', async () => {
    const runs = new Runs({ drainMs: 0, abortGraceMs: 0 });
    const run = runs.unprotected('id');
    const seen: unknown[] = [runs.current()];
    const result = await runs.within(run, async (own) => {
      seen.push(own, runs.current());
      await turn();
      seen.push(runs.current());
      return 5;
    });
    expect([result, seen, runs.current()]).toEqual([5, [undefined, run, run, run], undefined]);
  });
});
