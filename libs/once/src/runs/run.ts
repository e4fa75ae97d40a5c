import { performance } from 'node:perf_hooks';
import { unlimitedListeners } from '../../../internal/src';
import { OnceLostError } from '../once.errors';
import type { OnceStore } from '../once.store';
import type { OnceRun } from '../once.types';
import type { Member } from './rounds';

/** A claim that work runs under. */
export interface Held {
  readonly key: string;
  readonly token: string;
  readonly fence: number;
  /** `performance.now()` from before the claim was sent: the lease ends no earlier than `leaseMs` after it. */
  readonly claimedAt: number;
  readonly leaseMs: number;
  /** How long the claim is renewed, ms. A lease that is longer lasts to its own end. */
  readonly maxLeaseMs: number;
}

/** Work under a claim: the lease by the local monotonic clock, its renewal and its signal. */
export class Run implements OnceRun, Member {
  index = -1;
  /** True until the claim is settled and that was answered. */
  open = true;
  readonly fence: number;
  private readonly lastAt: number;
  private renewAt: number;
  private endsAt: number;
  private settling = false;
  private controller: AbortController | undefined;
  private lostBecause: OnceLostError | undefined;
  /** True once the lease is over, as far as this process knows; after a revocation it may last still. */
  private over = false;

  /**
   * @param id the caller's name for what is done once
   * @param look called before each renewal that is due: may settle the run, which then needs none
   */
  constructor(
    readonly id: string,
    readonly held: Held,
    private readonly store: OnceStore,
    private readonly look?: () => void,
  ) {
    const { claimedAt, leaseMs, maxLeaseMs, fence } = held;
    this.fence = fence;
    this.endsAt = claimedAt + leaseMs;
    this.lastAt = claimedAt + Math.max(leaseMs, maxLeaseMs);
    this.renewAt = claimedAt + leaseMs / 3;
  }

  get signal(): AbortSignal {
    this.watchTime(performance.now());
    if (this.controller === undefined) {
      this.controller = new AbortController();
      unlimitedListeners(this.controller.signal);
      if (this.lostBecause !== undefined) this.controller.abort(this.lostBecause);
    }
    return this.controller.signal;
  }

  assertHeld(): void {
    this.watchTime(performance.now());
    if (this.lostBecause !== undefined) throw this.lostBecause;
    if (this.settling) throw new OnceLostError(this.id, 'its work has ended');
  }

  tick(now: number): number {
    if (this.settling) return Infinity;
    this.watchTime(now);
    if (now >= this.renewAt) {
      this.renewAt = now + this.held.leaseMs / 3;
      this.look?.();
      if (!this.settling && !this.over) this.renew(now);
    }
    return this.over ? Infinity : Math.min(this.endsAt, this.lastAt);
  }

  /** Fires the signal while the lease lasts: the work may still end and be confirmed. Harmless twice. */
  revoke(because: string): void {
    if (this.lostBecause !== undefined) return;
    this.lostBecause = new OnceLostError(this.id, because);
    this.controller?.abort(this.lostBecause);
  }

  /** Ends the renewals, since the claim is about to be confirmed or released. */
  settle(): void {
    this.settling = true;
  }

  private renew(now: number): void {
    const { key, token, leaseMs } = this.held;
    this.store.renew(key, token, leaseMs).then(
      ({ status }) => {
        if (status === 'lost') this.lose('its lease is over, or another has it');
        else this.endsAt = Math.max(this.endsAt, now + leaseMs);
      },
      // Redis was unavailable or silent: the lease may last still, and is asked for again until its local end.
      () => undefined,
    );
  }

  private watchTime(now: number): void {
    if (this.over || this.settling) return;
    if (now >= this.lastAt) this.lose(`it has run for ${this.held.maxLeaseMs} ms, its maxLeaseMs`);
    else if (now >= this.endsAt) this.lose('its lease could not be renewed in time');
  }

  private lose(because: string): void {
    if (this.settling) return;
    this.over = true;
    this.revoke(because);
  }
}

/** A request that runs although Redis failed (`onRedisError: 'run'`): nothing keeps another from the same work. */
export class UnprotectedRun implements OnceRun {
  readonly fence = 0;
  private own: AbortSignal | undefined;

  /** @param stopping aborted when the app shuts down */
  constructor(
    readonly id: string,
    private readonly stopping: AbortSignal,
  ) {}

  // A signal of its own: listeners on it end with the run. It is made on demand, since some versions of Node keep a note of
  // each on `stopping`.
  get signal(): AbortSignal {
    this.own ??= unlimitedListeners(AbortSignal.any([this.stopping]));
    return this.own;
  }

  assertHeld(): void {
    throw new OnceLostError(this.id, "it runs without a claim, since Redis failed and onRedisError is 'run'");
  }
}
