import { unlimitedListeners, LostError } from '../../../internal/src';
import type { LockLease } from '../../../lock/src/internal';
import type { ScheduledRun } from '../scheduled-lock.types';

/** A run of a job, as `current()` returns it. A run without a lease has no lock: its claim failed, and `onRedisError` is `run`. */
export class Run implements ScheduledRun {
  private readonly stopping = new AbortController();
  private either: AbortSignal | undefined;

  constructor(
    readonly name: string,
    readonly slot: number,
    readonly lease?: LockLease,
  ) {}

  get fence(): number {
    return this.lease?.fence ?? 0;
  }

  get signal(): AbortSignal {
    const stopping = this.stopping.signal;
    this.either ??= unlimitedListeners(this.lease ? AbortSignal.any([stopping, this.lease.signal]) : stopping);
    // The lease may have ended before its timer has fired. Reading `lease.signal` then fires the signal.
    void this.lease?.signal;
    return this.either;
  }

  /** True if the run was stopped, or its lease has ended. */
  get lost(): boolean {
    return this.stopping.signal.aborted || this.lease?.held === false;
  }

  assertHeld(): void {
    if (this.lease) return this.lease.assertHeld();
    throw new LostError(`Job ${this.name} runs without its lock, because its claim failed and onRedisError is 'run'.`);
  }

  /** Fires the signal of the run. The lease stays until it is released. */
  stop(): void {
    this.stopping.abort(new Error('The app is shutting down.'));
  }
}
