import { unlimitedListeners } from '../../../internal/src';
import { LockLostError } from 'luanest/lock';
import type { Lease } from '../../../lock/src/internal';
import type { ScheduledRun } from '../scheduled-lock.types';

/** A run as its method sees it. Without a lease it runs unlocked, since Redis failed. */
export class Run implements ScheduledRun {
  private readonly stopping = new AbortController();
  private either: AbortSignal | undefined;

  constructor(
    readonly name: string,
    readonly slot: number,
    readonly lease?: Lease,
  ) {}

  get fence(): number {
    return this.lease?.fence ?? 0;
  }

  get signal(): AbortSignal {
    const stopping = this.stopping.signal;
    this.either ??= unlimitedListeners(this.lease ? AbortSignal.any([stopping, this.lease.signal]) : stopping);
    // A lease that is over says so when it is asked, although its timer could not ring yet.
    void this.lease?.signal;
    return this.either;
  }

  /** Whether it was stopped, or its lease is over. */
  get lost(): boolean {
    return this.stopping.signal.aborted || this.lease?.held === false;
  }

  assertHeld(): void {
    if (this.lease) return this.lease.assertHeld();
    throw new LockLostError(`Job ${this.name} runs without its lock, since Redis failed and onRedisError is 'run'.`);
  }

  /** Fires the signal; the lease lasts until it is released. */
  stop(): void {
    this.stopping.abort(new Error('The app is shutting down.'));
  }
}
