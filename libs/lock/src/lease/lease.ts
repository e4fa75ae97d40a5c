import { MAX_TIMER_MS, unlimitedListeners, time, type Timer, LostError } from '../../../internal/src';
import { events, type LockEvents } from '../lock.events';

export interface LeasePort {
  /** Restarts the lease in Redis. Returns false if the lease is lost. Returns or throws within `timeoutMs`. */
  renew(leaseMs: number, timeoutMs: number): Promise<boolean>;
  /** Ends the lease in Redis. Returns false if the lease was lost before. */
  release(): Promise<boolean>;
}

/** Set of leases. It calls `watch()` of those that are still held when its own timer fires, so most leases need no timer. */
export interface LeaseKeeper {
  /** Longest time from `add` to the call of `watch()`, ms. A lease that must act sooner starts its timer itself. */
  readonly watchWithinMs: number;
  add(lease: Lease): void;
  /** Removes a lease. May be called twice. */
  remove(lease: Lease): void;
}

export interface LeaseStart {
  /** Name of the lock or the scheduled job, for messages and events. */
  readonly name: string;
  readonly fence: number;
  readonly leaseMs: number;
  /** `time.monotonicMs()` just before the acquisition was sent. */
  readonly sentAt: number;
  /** True to renew the lease until its release or end. */
  readonly renew: boolean;
  /** Set that the lease belongs to. Without one, the lease starts its timer at once. */
  readonly keeper?: LeaseKeeper;
}

/** Local side of a lease: its deadline by the monotonic clock, its renewal and its signal. */
export class Lease {
  readonly name: string;
  readonly fence: number;
  private readonly sentAt: number;
  private readonly port: LeasePort;
  private readonly renews: boolean;
  private readonly keeper: LeaseKeeper | undefined;
  private leaseMs: number;
  private deadline: number;
  private renewAt: number;
  private controller: AbortController | undefined;
  private lossError: LostError | undefined;
  /** True once a caller has the lock. Of several names, those that are acquired wait for the rest. */
  handedOut = false;
  /** True once the lease was lost in Redis, as far as this process knows. A revoked lease may still run there. */
  private ended = false;
  private releasing: Promise<'released' | 'lost'> | undefined;
  /** The last renewal that was started, until it has succeeded or failed. */
  private lastRenewal: Promise<unknown> | undefined;
  private timer: Timer | undefined;

  constructor({ name, fence, leaseMs, sentAt, renew, keeper }: LeaseStart, port: LeasePort) {
    this.name = name;
    this.fence = fence;
    this.sentAt = sentAt;
    this.port = port;
    this.leaseMs = leaseMs;
    this.renews = renew;
    this.keeper = keeper;
    this.deadline = sentAt + leaseMs;
    this.renewAt = renew ? sentAt + leaseMs / 3 : Infinity;
    keeper?.add(this);
    if (!keeper || this.untilAlarmMs < keeper.watchWithinMs) this.startTimer();
  }

  /**
   * Signal that is aborted when the lease is lost or revoked before its release. Its reason is a LostError. The signal is made
   * on demand, because most locks do not need one.
   */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      unlimitedListeners(this.controller.signal);
    }
    this.checkDeadline();
    if (this.lossError) this.controller.abort(this.lossError);
    return this.controller.signal;
  }

  /** True until the lease ends by the local clock, is lost or revoked, or its release begins. */
  get held(): boolean {
    return this.active && this.lossError === undefined;
  }

  /** Milliseconds until the local deadline; 0 if the lease is not held. */
  get leftMs(): number {
    return this.held ? Math.max(0, this.deadline - time.monotonicMs()) : 0;
  }

  /**
   * Must be called right before an action that must not happen without the lock.
   *
   * @throws LostError unless the lease is held
   */
  assertHeld(): void {
    if (this.held) return;
    throw this.lossError ?? new LostError(`Lock ${this.name} is no longer held: its release has begun.`);
  }

  /**
   * Restarts the lease in Redis now.
   *
   * @param leaseMs length of the lease from now on, also of later renewals; default: as before
   * @throws LostError if the lease is not held; the errors of ScriptRegistry.run() if Redis fails: then the lease keeps its end
   * in this process, or ends after `leaseMs` if that is sooner
   */
  async extend(leaseMs = this.leaseMs): Promise<void> {
    this.assertHeld();
    await this.afterLastRenewal(async () => {
      this.assertHeld();
      this.leaseMs = leaseMs;
      await this.renewOnce(Math.max(1, Math.floor(this.leftMs)));
    });
    this.assertHeld();
  }

  /**
   * Stops the renewal, waits for a renewal in flight, and ends the lease in Redis. Further calls return the first result.
   *
   * @throws the errors of ScriptRegistry.run() if Redis fails; the lease then ends at the latest after `leaseMs`
   */
  release(): Promise<'released' | 'lost'> {
    this.releasing ??= this.stop();
    return this.releasing;
  }

  /** Starts the timer that renews the lease and fires the signal. Only a keeper calls this. */
  watch(): void {
    if (this.active) this.startTimer();
  }

  /** Ends the lease in this process and fires the signal. Does not call Redis. */
  lose(reason: string): void {
    if (this.ended || this.releasing) return;
    this.ended = true;
    time.clearTimer(this.timer);
    this.keeper?.remove(this);
    this.revoke(reason);
  }

  /** Fires the signal. Does not stop the renewal, because the work under the lease may need a moment to end. */
  revoke(reason: string): void {
    if (this.lossError || this.releasing) return;
    this.lossError = new LostError(`Lock ${this.name} (fence ${this.fence}) may no longer be used: ${reason}.`);
    events.lockLost.publish(() => ({ ...this.summary, reason }));
    this.controller?.abort(this.lossError);
  }

  private get summary(): LockEvents['lockReleased'] {
    return { name: this.name, fence: this.fence, heldMs: time.monotonicMs() - this.sentAt };
  }

  private stop(): Promise<'released' | 'lost'> {
    this.checkDeadline();
    time.clearTimer(this.timer);
    const giveUp = (): Promise<'released' | 'lost'> =>
      this.port.release().then(this.releaseReplied, this.releaseFailed);
    return this.lastRenewal ? this.lastRenewal.then(giveUp, giveUp) : giveUp();
  }

  // The lease stays in the keeper until Redis has replied or the call has failed, so that shutdown waits for that.
  private readonly releaseReplied = (released: boolean): 'released' | 'lost' => {
    this.keeper?.remove(this);
    if (this.lossError) return 'lost';
    if (released) events.lockReleased.publish(() => this.summary);
    else
      events.lockLost.publish(() => ({ ...this.summary, reason: 'Redis had no lease of this holder at the release' }));
    return released ? 'released' : 'lost';
  };

  private readonly releaseFailed = (error: unknown): never => {
    this.keeper?.remove(this);
    throw error;
  };

  /** True until the lease ends by the local clock, is lost, or its release begins. A revoked lease is still active. */
  private get active(): boolean {
    this.checkDeadline();
    return !this.ended && this.releasing === undefined;
  }

  private checkDeadline(): void {
    if (time.monotonicMs() >= this.deadline) this.lose('the lease ended');
  }

  private startTimer(): void {
    time.clearTimer(this.timer);
    const dueMs = Math.min(Math.max(1, Math.ceil(this.untilAlarmMs)), MAX_TIMER_MS);
    this.timer = time.setTimer(() => this.onTimer(), dueMs);
    this.timer.unref();
  }

  /** Milliseconds until the next renewal or the deadline, whichever is sooner; until the deadline while a renewal is in flight. */
  private get untilAlarmMs(): number {
    return (this.lastRenewal ? this.deadline : Math.min(this.renewAt, this.deadline)) - time.monotonicMs();
  }

  private onTimer(): void {
    if (!this.active) return;
    if (!this.lastRenewal && time.monotonicMs() >= this.renewAt)
      void this.afterLastRenewal(() => this.renewAndReport());
    this.startTimer();
  }

  /** Runs one renewal at a time, because the reply to an older renewal must not shorten the lease of a newer one. */
  private afterLastRenewal<T>(renew: () => Promise<T>): Promise<T> {
    const mine: Promise<T> = (this.lastRenewal ?? Promise.resolve())
      .catch(() => undefined)
      .then(renew)
      .finally(() => {
        if (this.lastRenewal !== mine) return;
        this.lastRenewal = undefined;
        if (this.active) this.startTimer();
      });
    this.lastRenewal = mine;
    return mine;
  }

  private async renewAndReport(): Promise<void> {
    try {
      const leftMs = this.deadline - time.monotonicMs();
      if (this.active) await this.renewOnce(Math.ceil(Math.min(leftMs, Math.max(50, this.leaseMs / 3))));
    } catch (error) {
      // Try again before the lease ends, because Redis may reply by then.
      this.renewAt = time.monotonicMs() + (this.leaseMs / 20) * (0.5 + Math.random());
      events.callFailed.publish(() => ({ name: this.name, during: 'renew', error }));
    }
  }

  private async renewOnce(timeoutMs: number): Promise<void> {
    const sentAt = time.monotonicMs();
    const { leaseMs } = this;
    if (sentAt + leaseMs < this.deadline) {
      // A shorter lease counts from now: Redis may have it although the reply is lost.
      this.deadline = sentAt + leaseMs;
      this.startTimer();
    }
    const renewed = await this.port.renew(leaseMs, Math.min(timeoutMs, leaseMs));
    this.checkDeadline();
    if (!renewed) this.lose('Redis had no lease of this holder at a renewal');
    else {
      this.deadline = sentAt + leaseMs;
      this.renewAt = this.renews ? sentAt + leaseMs / 3 : Infinity;
    }
  }
}
