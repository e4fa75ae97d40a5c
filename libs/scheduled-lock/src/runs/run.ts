import { unlimitedListeners, LostError } from '../../../internal/src';
import type { LockLease } from '../../../lock/src/internal';
import type { ScheduledRun } from '../scheduled-lock.types';

/** A run of a job, as `current()` returns it. It has no lease if its claim failed and `onRedisError` is `run`. */
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
    // The lease may have ended before its timer fired. Reading `lease.signal` notices this, and aborts the AbortSignal.
    void this.lease?.signal;
    return this.either;
  }

  /** True if the run was stopped, or has lost its lease. */
  get lost(): boolean {
    return this.stopping.signal.aborted || this.lease?.held === false;
  }

  assertHeld(): void {
    if (this.lease) return this.lease.assertHeld();
    throw new LostError(
      `Job ${this.name} runs without its lock, because Redis failed when the run began and onRedisError is 'run'. Other nodes may run it, too.`,
    );
  }

  /** Aborts the AbortSignal of the run. The lease stays until it is released. */
  stop(): void {
    this.stopping.abort(new Error(`This app is shutting down, so job ${this.name} must end now.`));
  }
}
