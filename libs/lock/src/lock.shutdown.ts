import { nextTurn, reachedWithin, LostError } from '../../internal/src';
import type { Acquirer } from './acquisition/acquirer';
import type { ResolvedLockModuleOptions } from './lock.options';
import type { Lock } from './lock.types';

/** Longest wait for the replies to the last releases, ms. Leases whose release fails end by themselves. */
const LAST_REPLIES_MS = 2_000;

/** Tracks the work of `withLock`, and releases the locks of a LockService at shutdown. */
export class Shutdown {
  /** One function for each running call of `withLock`: it rejects the promise of that call. */
  private readonly rejectors = new Set<() => void>();

  constructor(
    private readonly acquirer: Acquirer,
    private readonly options: ResolvedLockModuleOptions,
  ) {}

  /** Runs `work` and returns its result. @throws the error of `work`; LostError if shutdown no longer waits for `work` */
  track<T>(lock: Lock, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const rejectNow = (): void => {
        this.rejectors.delete(rejectNow);
        reject(
          new LostError(
            `The app shut down before the work under lock ${lock.names.join(', ')} was done, so the lock may no longer be used.`,
          ),
        );
      };
      this.rejectors.add(rejectNow);
      work()
        .finally(() => this.rejectors.delete(rejectNow))
        .then(resolve, reject);
    });
  }

  /**
   * Waits up to `drainMs` for held locks, fires their signals, waits up to `abortGraceMs`, and releases the locks that are still
   * held. Never throws. See DECISIONS.md: revoke-before-release-at-shutdown
   */
  async run(): Promise<void> {
    const { acquirer, rejectors } = this;
    const { drainMs, abortGraceMs } = this.options;
    acquirer.close();
    if (await this.idleWithin(drainMs)) return;
    for (const lease of acquirer.leases) lease.revoke('the app is shutting down');
    if (await this.idleWithin(abortGraceMs)) return;
    for (const rejectNow of rejectors) rejectNow();
    // Callers of withLock() see the error before their lock is released.
    await new Promise<void>((resolve) => void nextTurn(resolve));
    for (const lease of acquirer.leases) lease.release().catch(() => undefined);
    await this.idleWithin(LAST_REPLIES_MS);
  }

  private idleWithin(ms: number): Promise<boolean> {
    return reachedWithin(ms, () => this.rejectors.size === 0 && this.acquirer.idle);
  }
}
