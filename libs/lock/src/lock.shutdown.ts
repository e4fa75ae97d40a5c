import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import type { Acquirer } from './acquisition/acquirer';
import { LockLostError } from './lock.errors';
import type { ResolvedLockModuleOptions } from './lock.options';
import type { Lock } from './lock.types';

/** How often shutdown looks whether the last lock was given up, ms. */
const LOOK_EVERY_MS = 5;
/** How long shutdown waits for the answers to its releases, ms. Leases whose release is not answered end by themselves. */
const LAST_ANSWERS_MS = 2_000;

/** Work that runs under locks, and how the locks of a process end when the app shuts down. */
export class Shutdown {
  private readonly works = new Set<() => void>();

  constructor(
    private readonly acquirer: Acquirer,
    private readonly options: ResolvedLockModuleOptions,
  ) {}

  /** Runs `work` and returns its result. @throws what it throws; LockLostError when shutdown waits for it no longer */
  await<T>(lock: Lock, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cutOff = (): void => {
        this.works.delete(cutOff);
        reject(
          new LockLostError(`Lock ${lock.names.join(', ')} was lost: the app shut down before its work was done.`),
        );
      };
      this.works.add(cutOff);
      work()
        .finally(() => this.works.delete(cutOff))
        .then(resolve, reject);
    });
  }

  // See DECISIONS.md: revoke-before-release-at-shutdown
  /** Waits for what is held, then ends it. Never throws. */
  async run(): Promise<void> {
    const { acquirer, works } = this;
    const { drainMs, abortGraceMs } = this.options;
    acquirer.close();
    if (await this.idleWithin(drainMs)) return;
    for (const lease of acquirer.live) lease.revoke('the app is shutting down');
    if (await this.idleWithin(abortGraceMs)) return;
    for (const cutOff of works) cutOff();
    // What awaits withLock() learns of the loss before anyone else can have the lock.
    await turn();
    for (const lease of acquirer.live) lease.release().catch(() => undefined);
    await this.idleWithin(LAST_ANSWERS_MS);
  }

  private async idleWithin(ms: number): Promise<boolean> {
    const until = performance.now() + ms;
    while (this.works.size > 0 || !this.acquirer.idle) {
      const leftMs = until - performance.now();
      if (leftMs <= 0) return false;
      await sleep(Math.min(LOOK_EVERY_MS, leftMs));
    }
    return true;
  }
}
