import { unlimitedListeners } from './abort-signals';
import { MAX_TIMER_MS } from './checks';
import type { LostError } from './errors';
import { time, type Timer } from './time';

/**
 * Reason why this process does not hold a lease. `time`: the lease ended by the clock of this process. `latest`: the lease reached its
 * latest end. `redis`: a renewal did not find the lease in Redis. `settled`: the lease is being released or confirmed.
 */
export type LossCause = 'time' | 'latest' | 'redis' | 'settled';

/**
 * Time by which a lease ends earlier in this process than in Redis, ms. It is needed because scripts round the time of Redis down to ms.
 */
const ROUNDING_MS = 1;

/**
 * Lease in this process: its end by the monotonic clock, and its AbortSignal. Redis has the other side of the lease, such as the key of a
 * lock. A lease begins when the call for it is sent, not when the reply arrives. The same applies to each renewal.
 */
export abstract class Lease {
  /** Index of the lease in the list of its LeaseBook, which sets this field. -1 if the lease is not in a LeaseBook. */
  index = -1;
  /** Length of the lease, ms. A new value counts from the next renewal on. */
  leaseMs: number;
  /** End of the lease, by `time.monotonicMs()`, ms. */
  endsAt: number;
  /** When the next renewal is due, by `time.monotonicMs()`; Infinity if no renewal is due. */
  renewAt: number;
  /** When the LeaseBook calls `alarm()`, by `time.monotonicMs()`. After you set this field, call `LeaseBook.watch()`. */
  alarmAt = Infinity;
  /** The renewal in flight. Undefined if there is none. */
  renewal: Promise<void> | undefined;
  /** True once the lease is lost. A lost lease is not renewed any more. */
  over = false;
  /** True once `settle` was called. */
  settling = false;
  private lapsed = false;
  private controller: AbortController | undefined;
  private abortReason: Error | undefined;

  /**
   * @param sentAt `time.monotonicMs()` just before the call that acquired the lease was sent
   * @param leaseMs length of the lease, ms
   * @param renews false: the LeaseBook does not renew the lease
   * @param latestAt latest end of the lease, even if it is renewed, by `time.monotonicMs()`
   */
  constructor(
    readonly sentAt: number,
    leaseMs: number,
    private readonly renews = true,
    private readonly latestAt = Infinity,
  ) {
    this.leaseMs = leaseMs;
    this.endsAt = Math.min(this.endOf(sentAt), latestAt);
    this.renewAt = renews ? sentAt + leaseMs / 3 : Infinity;
  }

  /** Returns the error for the loss of this lease. */
  abstract lossOf(cause: LossCause): LostError;

  /**
   * AbortSignal that fires when the lease is lost or aborted, unless it is settled. The signal is created when it is first read, because
   * most leases do not need one.
   */
  get signal(): AbortSignal {
    this.check();
    if (this.controller === undefined) {
      this.controller = new AbortController();
      unlimitedListeners(this.controller.signal);
      if (this.abortReason) this.controller.abort(this.abortReason);
    }
    return this.controller.signal;
  }

  /** True until the lease ends by the local clock, is lost, aborted or settled. */
  get held(): boolean {
    this.check();
    return !this.over && !this.settling && this.abortReason === undefined;
  }

  /**
   * Throws if the lease is not held. Call it right before an action that must not happen without the lease.
   *
   * @throws the reason of the signal, or LostError
   */
  assertHeld(): void {
    if (!this.held) throw this.abortReason ?? this.lossOf('settled');
  }

  /**
   * Fires the signal, but keeps and renews the lease, because the work may need a moment to end. If it is called again, only the first
   * reason counts.
   */
  abort(reason: Error): void {
    if (this.abortReason || this.settling) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
    this.aborted(reason);
  }

  /** Ends the lease in this process and fires the signal. Does nothing once the lease is settled. */
  lose(error: LostError): void {
    if (this.over || this.settling) return;
    this.over = true;
    this.abort(error);
  }

  /** Marks the lease as being released or confirmed. From now on, it is not renewed, and cannot be lost. Returns the renewal in flight. */
  settle(): Promise<void> | undefined {
    this.settling = true;
    return this.renewal;
  }

  /** Calls `lapse` if the lease has ended by the clock of this process. */
  check(now = time.monotonicMs()): void {
    if (now < this.endsAt || this.over || this.settling || this.lapsed) return;
    this.lapsed = true;
    this.lapse(this.lossOf(now >= this.latestAt ? 'latest' : 'time'));
  }

  /** Called at `alarmAt`, once. */
  alarm(_now: number): void {}

  /** Called before each renewal that is due. If it settles the lease, the lease is not renewed. */
  beforeRenewal(): void {}

  /** Called when the lease is aborted or lost: the signal fires, if it was ever read. */
  protected aborted(_reason: Error): void {}

  /**
   * Called when the lease has ended by the clock of this process. Marks the lease as lost. Override this method for a lease that counts
   * as lost only if Redis has lost it; a renewal may still succeed.
   */
  protected lapse(error: LostError): void {
    this.lose(error);
  }

  /** For LeaseBook: returns when the book must check the lease again, by `time.monotonicMs()`. */
  dueAt(): number {
    if (this.over || this.settling) return this.alarmAt;
    return Math.min(this.alarmAt, this.lapsed ? Infinity : this.endsAt, this.renewal ? Infinity : this.renewAt);
  }

  /** For LeaseBook: returns true if the lease may be renewed now. A lease may be renewed slightly too early, so that batches are larger. */
  isDue(now: number): boolean {
    return !this.over && !this.settling && !this.renewal && now >= this.renewAt - this.leaseMs / 100;
  }

  /**
   * For LeaseBook: called when a renewal is sent. If `leaseMs` has become shorter, the earlier end counts at once, because Redis may
   * renew the lease although the reply is lost.
   */
  sent(sentAt: number): void {
    this.endsAt = Math.min(this.endsAt, this.endOf(sentAt));
    // If the renewal fails, there must be time for another one.
    if (this.renews) this.renewAt = Math.min(this.renewAt, sentAt + this.leaseMs / 3);
  }

  /** For LeaseBook: called when a call that was sent at `sentAt` has renewed the lease. */
  restarted(sentAt: number): void {
    this.check();
    if (this.over) return;
    this.endsAt = Math.max(this.endsAt, Math.min(this.endOf(sentAt), this.latestAt));
    this.renewAt = this.renews ? sentAt + this.leaseMs / 3 : Infinity;
    this.lapsed = false;
  }

  private endOf(sentAt: number): number {
    return sentAt + this.leaseMs - ROUNDING_MS;
  }
}

/** Object that renews the leases of a LeaseBook in Redis. */
export interface LeaseOwner<L extends Lease> {
  /**
   * Renews leases in Redis, each for its `leaseMs`.
   *
   * @param batch one lease, or with `batchOf` several leases of one batch
   * @param deadlineMs longest time until the reply, ms
   * @returns the leases that are lost
   */
  renew(batch: readonly L[], deadlineMs: number): Promise<readonly L[]>;
  /** Called when a renewal has failed. The LeaseBook tries the renewal again later. Not called for `extend`, which throws the error. */
  renewalFailed(batch: readonly L[], error: unknown): void;
  /**
   * Returns the key of the batch of a lease, such as a partition. Leases with the same key are renewed together, so they must have the
   * same `leaseMs`. Default: each lease is renewed alone.
   */
  batchOf?(lease: L): unknown;
  /** Maximum number of leases in a batch. Default: no limit. */
  readonly maxBatch?: number;
}

/**
 * Leases of one kind in this process, such as those of locks. Renews each lease after a third of its length. Marks a lease as lost when
 * it ends by the clock.
 *
 * Most leases are held only for a moment. So adding and removing a lease must be fast, and all leases share one timer.
 * See DECISIONS.md: one-timer-for-all-leases
 */
export class LeaseBook<L extends Lease> {
  private readonly leases: L[] = [];
  private timer: Timer | undefined;
  /** When the timer must fire at the latest, by `time.monotonicMs()`. */
  private wakeAt = Infinity;

  constructor(private readonly owner: LeaseOwner<L>) {}

  /** All leases that were added and not removed. They include lost, aborted and settled leases. */
  get all(): readonly L[] {
    return this.leases;
  }

  add(lease: L): void {
    lease.index = this.leases.length;
    this.leases.push(lease);
    this.watch(lease);
  }

  /** Removes a lease. Does nothing if the lease was removed already. */
  remove(lease: L): void {
    const { index } = lease;
    if (index < 0) return;
    lease.index = -1;
    const last = this.leases.pop() as L;
    if (last === lease) return;
    this.leases[index] = last;
    last.index = index;
  }

  /** Sets the timer earlier if this lease needs it. Call this method after a change of the lease, such as after you set `alarmAt`. */
  watch(lease: L): void {
    if (lease.index < 0) return;
    const dueAt = lease.dueAt();
    if (dueAt < this.wakeAt) this.wakeBy(dueAt);
  }

  /** Renews a lease now, or right after the renewal in flight. If the lease is lost, the reply shows this. */
  renewNow(lease: L): void {
    const now = time.monotonicMs();
    lease.renewAt = Math.min(lease.renewAt, now);
    // The reply to a renewal in flight sets the time of the next one.
    void lease.renewal
      ?.catch(() => undefined)
      .then(() => {
        lease.renewAt = Math.min(lease.renewAt, now);
        this.watch(lease);
      });
    this.watch(lease);
  }

  /** Records that a call which is not a renewal has renewed a lease. @param sentAt `time.monotonicMs()` just before the call was sent */
  restarted(lease: L, sentAt: number): void {
    lease.restarted(sentAt);
    this.watch(lease);
  }

  /**
   * Renews a lease in Redis now. First waits for the renewal in flight.
   *
   * @param leaseMs new length of the lease, ms, also for later renewals; default: the length does not change
   * @throws the errors of `assertHeld` and of `renew`. If `extend` fails, the lease keeps its end. If the new end would be earlier, this
   *   earlier end counts
   */
  async extend(lease: L, leaseMs?: number): Promise<void> {
    lease.assertHeld();
    // Only one renewal may be in flight, because the reply to an older renewal must not count for a newer one.
    while (lease.renewal) await lease.renewal.catch(() => undefined);
    lease.assertHeld();
    if (leaseMs !== undefined) lease.leaseMs = leaseMs;
    const leftMs = lease.endsAt - time.monotonicMs();
    await this.send([lease], Math.max(1, Math.floor(Math.min(leftMs, lease.leaseMs))), false);
    lease.assertHeld();
  }

  private wakeBy(at: number): void {
    time.clearTimer(this.timer);
    this.wakeAt = at;
    // Each time the timer fires, all leases are checked. So if there are many leases, the timer fires less often, and a signal may be
    // late.
    const ms = Math.max(1, at - time.monotonicMs(), this.leases.length / 1_000);
    this.timer = time.setTimer(this.lookAtAll, Math.min(Math.ceil(ms), MAX_TIMER_MS));
    this.timer.unref();
  }

  private readonly lookAtAll = (): void => {
    this.timer = undefined;
    this.wakeAt = Infinity;
    const now = time.monotonicMs();
    const due = [...this.leases].filter((lease) => this.isDue(lease, now));
    for (const batch of this.batchesOf(due)) void this.send(batch, deadlineOf(batch, now), true);
    let next = this.wakeAt;
    for (const lease of this.leases) next = Math.min(next, lease.dueAt());
    if (next < this.wakeAt) this.wakeBy(next);
  };

  private isDue(lease: L, now: number): boolean {
    if (now >= lease.alarmAt) {
      lease.alarmAt = Infinity;
      lease.alarm(now);
    }
    // The alarm of this lease or of another one may have removed this lease.
    if (lease.index < 0) return false;
    lease.check(now);
    if (!lease.isDue(now)) return false;
    lease.beforeRenewal();
    return lease.index >= 0 && lease.isDue(now);
  }

  private batchesOf(due: readonly L[]): L[][] {
    const { owner } = this;
    if (!owner.batchOf) return due.map((lease) => [lease]);
    const batches: L[][] = [];
    const open = new Map<unknown, L[]>();
    for (const lease of due) {
      const key = owner.batchOf(lease);
      const batch = open.get(key);
      if (batch !== undefined && batch.length < (owner.maxBatch ?? Infinity)) {
        batch.push(lease);
        continue;
      }
      const fresh = [lease];
      open.set(key, fresh);
      batches.push(fresh);
    }
    return batches;
  }

  /** @param again true: if the renewal fails, calls `renewalFailed`, and tries again later. False: throws the error */
  private send(batch: readonly L[], deadlineMs: number, again: boolean): Promise<void> {
    const sentAt = time.monotonicMs();
    for (const lease of batch) lease.sent(sentAt);
    const ended = (): void => {
      for (const lease of batch) {
        lease.renewal = undefined;
        this.watch(lease);
      }
    };
    // The function is async, so that the promise rejects if `renew` throws without returning a promise.
    const renewal = (async () => this.owner.renew(batch, deadlineMs))().then(
      (gone) => {
        const lost = gone.length > 0 ? new Set(gone) : undefined;
        for (const lease of batch) {
          if (lost?.has(lease)) lease.lose(lease.lossOf('redis'));
          else lease.restarted(sentAt);
        }
        ended();
      },
      (error: unknown) => {
        // Try again soon, because Redis may be available again before the lease ends.
        const now = time.monotonicMs();
        if (again) for (const lease of batch) lease.renewAt = now + (lease.leaseMs / 20) * (0.5 + Math.random());
        ended();
        if (!again) throw error;
        this.owner.renewalFailed(batch, error);
      },
    );
    for (const lease of batch) {
      lease.renewal = renewal;
      this.watch(lease);
    }
    return renewal;
  }
}

/** Returns how long a renewal waits for its reply, ms. The time is short enough that another renewal can follow before the leases end. */
function deadlineOf(batch: readonly Lease[], now: number): number {
  let ms = Infinity;
  for (const { leaseMs, endsAt } of batch) {
    ms = Math.min(ms, leaseMs, Math.max(50, leaseMs / 3), endsAt > now ? endsAt - now : Infinity);
  }
  return Math.ceil(ms);
}
