import { unlimitedListeners, time, LostError } from '../../../internal/src';
import type { Claim, OnceRun } from '../once.types';
import type { TimedLease } from './lease-timer';

/** Returns the error that stops a run. @param because completes "The run must stop, because ..." */
export function mustStop(because: string): LostError {
  return new LostError(`The run must stop, because ${because}.`);
}

export interface HeldClaim {
  readonly claim: Pick<Claim, 'fence' | 'renew' | 'confirm' | 'release'>;
  /** Result of `time.monotonicMs()` before the claim was sent. The lease ends `leaseMs` after this time, or later. */
  readonly claimedAt: number;
  readonly leaseMs: number;
  /** Time from the claim for which the lease is renewed, ms. If `leaseMs` is longer, the lease ends after `leaseMs`. */
  readonly maxLeaseMs: number;
}

/** Run with a claim: renews the lease, watches its end by the monotonic clock, and fires the signal when the lease is lost. */
export class Run implements OnceRun, TimedLease {
  index = -1;
  /** True until the confirmation or the release has ended, or failed. */
  open = true;
  readonly fence: number;
  private readonly lastAt: number;
  private renewAt: number;
  private endsAt: number;
  private settling = false;
  private controller: AbortController | undefined;
  private lostBecause: LostError | undefined;
  /** True when the lease has ended, as far as this process knows. `revoke` alone does not set it. */
  private over = false;

  /**
   * @param id id of the run, as in OnceRun
   * @param beforeRenewal called before each renewal that is due. If it calls `settle`, the lease is not renewed
   */
  constructor(
    readonly id: string,
    readonly held: HeldClaim,
    private readonly beforeRenewal?: () => void,
  ) {
    const { claimedAt, leaseMs, maxLeaseMs, claim } = held;
    this.fence = claim.fence;
    this.endsAt = claimedAt + leaseMs;
    this.lastAt = claimedAt + Math.max(leaseMs, maxLeaseMs);
    this.renewAt = claimedAt + leaseMs / 3;
  }

  get signal(): AbortSignal {
    this.watchTime(time.monotonicMs());
    if (this.controller === undefined) {
      this.controller = new AbortController();
      unlimitedListeners(this.controller.signal);
      if (this.lostBecause !== undefined) this.controller.abort(this.lostBecause);
    }
    return this.controller.signal;
  }

  assertHeld(): void {
    this.watchTime(time.monotonicMs());
    if (this.lostBecause !== undefined) throw this.lostBecause;
    if (this.settling) throw mustStop('its work has already ended');
  }

  tick(now: number): number {
    if (this.settling) return Infinity;
    this.watchTime(now);
    if (now >= this.renewAt) {
      this.renewAt = now + this.held.leaseMs / 3;
      this.beforeRenewal?.();
      if (!this.settling && !this.over) this.renew(now);
    }
    return this.over ? Infinity : Math.min(this.endsAt, this.lastAt);
  }

  /** Fires the signal, but keeps the lease. If the work ends nevertheless, it is confirmed. May be called twice. */
  revoke(because: string): void {
    if (this.lostBecause !== undefined) return;
    this.lostBecause = mustStop(because);
    this.controller?.abort(this.lostBecause);
  }

  /** Stops the renewals: from now on the claim is being confirmed or released. */
  settle(): void {
    this.settling = true;
  }

  private renew(now: number): void {
    const { claim, leaseMs } = this.held;
    // `async`, because a mock of a claim may have no method `renew`.
    (async () => claim.renew({ leaseMs }))().then(
      ({ status }) => {
        if (status === 'lost') this.lose('its lease has ended, another owner has the id, or Redis lost the claim');
        else this.endsAt = Math.max(this.endsAt, now + leaseMs);
      },
      // The lease may not have ended yet, so a later `tick` tries again.
      () => undefined,
    );
  }

  private watchTime(now: number): void {
    if (this.over || this.settling) return;
    if (now >= this.lastAt) this.lose(`it has run for at least its maxLeaseMs, ${this.held.maxLeaseMs} ms`);
    else if (now >= this.endsAt) this.lose('its lease was not renewed in time');
  }

  private lose(because: string): void {
    if (this.settling) return;
    this.over = true;
    this.revoke(because);
  }
}

/** Run of a request whose claim failed, while `onRedisError` is 'run'. Another request may do the same work. */
export class UnprotectedRun implements OnceRun {
  readonly fence = 0;
  private own: AbortSignal | undefined;

  /** @param stopping signal that fires when the app shuts down */
  constructor(
    readonly id: string,
    private readonly stopping: AbortSignal,
  ) {}

  // Each run has its own signal, so that its listeners are freed with the run. The signal is made when it is first read, because
  // some versions of Node keep a reference to each derived signal on `stopping`.
  get signal(): AbortSignal {
    this.own ??= unlimitedListeners(AbortSignal.any([this.stopping]));
    return this.own;
  }

  assertHeld(): void {
    throw mustStop("it has no claim: the claim failed, and onRedisError is 'run'");
  }
}
