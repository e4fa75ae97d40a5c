import { atLast, drained, LostError, nextTurn, reachedWithin, time } from '../../internal/src';
import type { Acquirer } from './locks/acquirer';
import type { ResolvedLockModuleOptions } from './lock.options';
import type { Lock } from './lock.types';

/** Longest time that a shutdown waits for the replies to the last releases, ms. If a release fails, the lease expires. */
const LAST_REPLIES_MS = 2_000;

/** Keeps track of the work of `withLock`, and releases the locks of a LockService at a shutdown. */
export class Shutdown {
  /** Functions that reject the promises of the running `withLock` calls. */
  private readonly rejectors = new Set<() => void>();

  private since: number | undefined;

  constructor(
    private readonly acquirer: Acquirer,
    private readonly options: ResolvedLockModuleOptions,
    registry: object,
  ) {
    atLast(registry, () => this.end());
  }

  /** Runs `work`, and returns its result. @throws the error of `work`; LostError if a shutdown no longer waits for `work` */
  track<T>(lock: Lock, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const rejectNow = (): void => {
        this.rejectors.delete(rejectNow);
        reject(
          new LostError(
            `The app is shutting down and no longer waits for the work under lock ${lock.names.join(', ')}: drainMs and abortGraceMs ` +
              'are over. The work may still run, but its lock is being released, so another process may get the lock. Let the work ' +
              'stop when the signal of the lock is aborted, or raise drainMs.',
          ),
        );
      };
      this.rejectors.add(rejectNow);
      work()
        .finally(() => this.rejectors.delete(rejectNow))
        .then(resolve, reject);
    });
  }

  /** Starts the period `drainMs`, unless it has started already. */
  begin(): void {
    this.since ??= time.monotonicMs();
  }

  /**
   * Waits up to `drainMs` until all locks are released, and for the handlers of all workers and consumers. Then aborts the AbortSignals of
   * the locks that are still held, waits up to `abortGraceMs`, and releases them. Never throws.
   */
  async drain(): Promise<void> {
    this.begin();
    const leftMs = Math.max(0, this.options.drainMs - (time.monotonicMs() - (this.since as number)));
    const allDrained = drained();
    // HTTP requests may acquire locks even after this method has returned, but they must not delay the shutdown beyond `drainMs`.
    time.setTimeLimit(() => void allDrained.then(() => this.refuse()), leftMs).unref();
    await Promise.all([this.idleWithin(leftMs), allDrained]);
    if (this.idle) return;
    this.refuse();
    if (!(await this.idleWithin(this.options.abortGraceMs))) await this.abandon();
  }

  /**
   * Refuses further acquisitions, and releases the locks that are still held. All handlers have ended by now, and the servers are closed.
   */
  private async end(): Promise<void> {
    this.refuse();
    await this.abandon();
  }

  private refuse(): void {
    this.acquirer.close();
    for (const lease of this.acquirer.leases.all) lease.revoke('the app is shutting down');
  }

  /**
   * Rejects the running `withLock` calls, and then releases all locks.
   * See DECISIONS.md: revoke-before-release-at-shutdown
   */
  private async abandon(): Promise<void> {
    for (const rejectNow of this.rejectors) rejectNow();
    // Callers of withLock() must get their LostError before their lock is released.
    await new Promise<void>((resolve) => void nextTurn(resolve));
    for (const lease of [...this.acquirer.leases.all]) lease.release().catch(() => undefined);
    await reachedWithin(LAST_REPLIES_MS, () => this.acquirer.idle);
  }

  private get idle(): boolean {
    return this.rejectors.size === 0 && this.acquirer.unused;
  }

  private idleWithin(ms: number): Promise<boolean> {
    return reachedWithin(ms, () => this.idle);
  }
}
