import { MAX_TIMER_MS, unlimitedListeners } from '../../../internal/src';
import { events, type LockReleasedEvent } from '../lock.events';
import { LockLostError } from '../lock.errors';

/** How a lease speaks to Redis. */
export interface LeasePort {
  /** Lets the lease start anew for `leaseMs`; false when it is lost. Answers within `timeoutMs` or throws. */
  renew(leaseMs: number, timeoutMs: number): Promise<boolean>;
  /** Gives the lease up; false when it was lost. */
  release(): Promise<boolean>;
}

/** Who knows the leases of a process and tells them when to watch their time. */
export interface LeaseKeeper {
  /** Each lease is told to `watch()` within so many ms of its start; one that must act sooner does so by itself. */
  readonly watchWithinMs: number;
  /** Takes note of a new lease; answers how to forget it, which is harmless twice. */
  took(lease: Lease): () => void;
}

/** What a lease is made of. */
export interface LeaseStart {
  /** For messages and events. */
  readonly name: string;
  readonly fence: number;
  readonly leaseMs: number;
  /** `performance.now()` from before the acquisition was sent. */
  readonly sentAt: number;
  /** Whether to renew at each third of the lease. */
  readonly renew: boolean;
  /** Default none: the lease watches its time from the start. */
  readonly keeper?: LeaseKeeper;
}

/** The local side of a lease: its deadline by the monotonic clock, its renewal and its signal. */
export class Lease {
  readonly name: string;
  readonly fence: number;
  private readonly sentAt: number;
  private readonly port: LeasePort;
  private readonly renews: boolean;
  private readonly forget: (() => void) | undefined;
  private leaseMs: number;
  private deadline: number;
  private renewAt: number;
  private controller: AbortController | undefined;
  private lostBecause: LockLostError | undefined;
  /** True once the lease has ended in Redis, as far as this process knows; a revoked one may last still. */
  private over = false;
  private releasing: Promise<'released' | 'lost'> | undefined;
  private turn: Promise<unknown> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private renewing = false;

  constructor({ name, fence, leaseMs, sentAt, renew, keeper }: LeaseStart, port: LeasePort) {
    this.name = name;
    this.fence = fence;
    this.sentAt = sentAt;
    this.port = port;
    this.leaseMs = leaseMs;
    this.renews = renew;
    this.deadline = sentAt + leaseMs;
    this.renewAt = renew ? sentAt + leaseMs / 3 : Infinity;
    this.forget = keeper?.took(this);
    if (!keeper || this.nextAlarmMs < keeper.watchWithinMs) this.arm();
  }

  /** Aborted at the local deadline, when a renewal finds the lease lost, and when it is revoked. Its reason is a LockLostError. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      unlimitedListeners(this.controller.signal);
    }
    this.noticeDeadline();
    if (this.lostBecause && !this.controller.signal.aborted) this.controller.abort(this.lostBecause);
    return this.controller.signal;
  }

  /** Returns true while the lease lasts by the local clock, and is neither released nor revoked. */
  get held(): boolean {
    return this.lasts && this.lostBecause === undefined;
  }

  /** Milliseconds until the local deadline; 0 when it is over. */
  get leftMs(): number {
    return this.held ? Math.max(0, this.deadline - performance.now()) : 0;
  }

  /**
   * To be called right before what must not happen without the lock.
   *
   * @throws LockLostError unless the lease still lasts
   */
  assertHeld(): void {
    if (this.held) return;
    throw this.lostBecause ?? new LockLostError(`Lock ${this.name} was released.`);
  }

  /**
   * Lets the lease start anew, now.
   *
   * @param leaseMs how long it lasts from now, and at later renewals; default: as before
   * @throws LockLostError when it is over; errors of the registry when Redis fails, the lease then ends as before
   */
  async extend(leaseMs = this.leaseMs): Promise<void> {
    this.assertHeld();
    await this.inTurn(async () => {
      this.assertHeld();
      this.leaseMs = leaseMs;
      await this.renewOnce(Math.max(1, Math.floor(this.leftMs)));
    });
    this.assertHeld();
  }

  /**
   * Stops the renewal, awaits one in flight, and gives the lease up. Every call gets the first one's answer.
   *
   * @throws the registry's errors when Redis fails; the lease then ends by itself
   */
  release(): Promise<'released' | 'lost'> {
    this.releasing ??= this.stop();
    return this.releasing;
  }

  /** Renews, and fires the signal, when it is time. A lease without a keeper does so from the start. */
  watch(): void {
    if (this.lasts) this.arm();
  }

  /** Ends the lease in this process and fires the signal; Redis is not asked. */
  lose(reason: string): void {
    if (this.over || this.releasing) return;
    this.over = true;
    clearTimeout(this.timer);
    this.forget?.();
    this.revoke(reason);
  }

  /** Fires the signal. The lease is renewed until its release: what runs under it may need a moment to end. */
  revoke(reason: string): void {
    if (this.lostBecause || this.releasing) return;
    this.lostBecause = new LockLostError(`Lock ${this.name} (fence ${this.fence}) was lost: ${reason}.`);
    events.lockLost.publish(() => ({ ...this.told, reason }));
    this.controller?.abort(this.lostBecause);
  }

  private get told(): LockReleasedEvent {
    return { name: this.name, fence: this.fence, heldMs: performance.now() - this.sentAt };
  }

  private stop(): Promise<'released' | 'lost'> {
    this.noticeDeadline();
    clearTimeout(this.timer);
    const giveUp = (): Promise<'released' | 'lost'> => this.port.release().then(this.released, this.notReleased);
    return this.turn ? this.turn.then(giveUp, giveUp) : giveUp();
  }

  // Until Redis has answered the lease is not forgotten, so that a shutdown waits for that.
  private readonly released = (released: boolean): 'released' | 'lost' => {
    this.forget?.();
    if (this.lostBecause) return 'lost';
    if (released) events.lockReleased.publish(() => this.told);
    else events.lockLost.publish(() => ({ ...this.told, reason: 'its release found it gone' }));
    return released ? 'released' : 'lost';
  };

  private readonly notReleased = (error: unknown): never => {
    this.forget?.();
    throw error;
  };

  /** Returns true until the lease ends by the local clock, is found lost, or is being released. */
  private get lasts(): boolean {
    this.noticeDeadline();
    return !this.over && this.releasing === undefined;
  }

  private noticeDeadline(): void {
    if (!this.over && !this.releasing && performance.now() >= this.deadline) this.lose('its lease ended');
  }

  private arm(): void {
    clearTimeout(this.timer);
    const due = Math.min(Math.max(1, Math.ceil(this.nextAlarmMs)), MAX_TIMER_MS);
    this.timer = setTimeout(() => this.ring(), due).unref();
  }

  private get nextAlarmMs(): number {
    return (this.renewing ? this.deadline : Math.min(this.renewAt, this.deadline)) - performance.now();
  }

  private ring(): void {
    if (!this.lasts) return;
    if (!this.renewing && performance.now() >= this.renewAt) void this.inTurn(() => this.renewQuietly());
    this.arm();
  }

  /** One renewal at a time, so that the answer of an older one cannot shorten what a newer one got. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.renewing = true;
    const mine: Promise<T> = (this.turn ?? Promise.resolve())
      .catch(() => undefined)
      .then(work)
      .finally(() => {
        if (this.turn !== mine) return;
        this.turn = undefined;
        this.renewing = false;
        if (this.lasts) this.arm();
      });
    this.turn = mine;
    return mine;
  }

  private async renewQuietly(): Promise<void> {
    try {
      const leftMs = this.deadline - performance.now();
      if (this.lasts) await this.renewOnce(Math.ceil(Math.min(leftMs, Math.max(50, this.leaseMs / 3))));
    } catch (error) {
      // Redis may be back before the lease is over.
      this.renewAt = performance.now() + (this.leaseMs / 20) * (0.5 + Math.random());
      events.callFailed.publish(() => ({ name: this.name, during: 'renew', error }));
    }
  }

  private async renewOnce(timeoutMs: number): Promise<void> {
    const sentAt = performance.now();
    const { leaseMs } = this;
    const renewed = await this.port.renew(leaseMs, Math.max(1, timeoutMs));
    this.noticeDeadline();
    if (!renewed) this.lose('a renewal found it gone');
    else if (!this.over) {
      this.deadline = sentAt + leaseMs;
      this.renewAt = this.renews ? sentAt + leaseMs / 3 : Infinity;
    }
  }
}
