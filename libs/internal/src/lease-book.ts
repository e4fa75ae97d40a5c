import { unlimitedListeners } from './abort-signals';
import { MAX_TIMER_MS } from './checks';
import type { LostError } from './errors';
import { time, type Timer } from './time';

/**
 * Reason why this process does not hold a lease any more. `time`: the lease ended by the clock of this process. `latest`: the lease reached
 * `latestAt`, its maximum end. `redis`: Redis had no such lease at a renewal. `settled`: the lease is being released or confirmed.
 */
export type LossCause = 'time' | 'latest' | 'redis' | 'settled';

/** This process counts a lease as ended this many ms early. Scripts round the time of Redis down to ms, so Redis may end it that early. */
const ROUNDING_MS = 1;

/**
 * A lease that this process holds, such as that of a lock: its end by the clock of this process, and an AbortSignal for the code that
 * relies on it. The time of a lease runs from the moment at which its call or its renewal was sent, not from the reply, so this process
 * never believes in a lease for too long.
 */
export abstract class Lease {
  /** Position of this lease in the array of its LeaseBook, which sets the field; -1 if the lease is in no LeaseBook. */
  index = -1;
  /** Length of the lease, ms. A new value counts from the next renewal on. */
  leaseMs: number;
  /** End of the lease, by `time.monotonicMs()`, ms. */
  endsAt: number;
  /** Time of the next renewal, by `time.monotonicMs()`; Infinity if no renewal is due. */
  renewAt: number;
  /** Time at which the LeaseBook calls `alarm()`, by `time.monotonicMs()`. Call `LeaseBook.watch()` after you set this field. */
  alarmAt = Infinity;
  /** Promise of the renewal in flight; undefined if no renewal is in flight. */
  renewal: Promise<void> | undefined;
  /** True once the lease is lost. It is then not renewed any more. */
  over = false;
  /** True once the lease is being released or confirmed (see `settle`). */
  settling = false;
  private lapsed = false;
  private controller: AbortController | undefined;
  private abortReason: Error | undefined;

  /**
   * @param sentAt time at which the call that acquired the lease was sent, by `time.monotonicMs()`
   * @param leaseMs length of the lease, ms
   * @param renews true: the LeaseBook renews the lease
   * @param latestAt end of the lease that no renewal can move, by `time.monotonicMs()`
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

  /** Creates the error that the holder of this lease gets when the lease is lost. */
  abstract lossOf(cause: LossCause): LostError;

  /**
   * AbortSignal that is aborted when the lease is lost, or when `abort` is called. The first read creates the signal, because most leases
   * need none.
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

  /**
   * True while this process may rely on the lease: it has not ended by the local clock, and it was not lost, aborted, released or
   * confirmed.
   */
  get held(): boolean {
    this.check();
    return !this.over && !this.settling && this.abortReason === undefined;
  }

  /**
   * Throws if the lease is not held. Call it right before an action that must not happen without the lease.
   *
   * @throws the reason of the AbortSignal, or LostError
   */
  assertHeld(): void {
    if (!this.held) throw this.abortReason ?? this.lossOf('settled');
  }

  /**
   * Aborts the AbortSignal, so that the work stops. The lease is kept and renewed meanwhile, because the work may need a moment to end.
   * Only the first reason counts.
   */
  abort(reason: Error): void {
    if (this.abortReason || this.settling) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
    this.aborted(reason);
  }

  /** Ends the lease in this process, and aborts its AbortSignal. Does nothing once the lease is being released or confirmed. */
  lose(error: LostError): void {
    if (this.over || this.settling) return;
    this.over = true;
    this.abort(error);
  }

  /**
   * Call it before you release or confirm the lease in Redis. From now on, the lease is not renewed and cannot be lost. Returns the renewal
   * in flight, if there is one.
   */
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

  /** The LeaseBook calls this method once, at `alarmAt`. A subclass may override it. */
  alarm(_now: number): void {}

  /** Called before each renewal that is due. A subclass may settle the lease here, so that it is not renewed. */
  beforeRenewal(): void {}

  /** Called when the lease is lost or aborted. A subclass may override it. */
  protected aborted(_reason: Error): void {}

  /**
   * Called when the lease has ended by the clock of this process. Marks the lease as lost. A subclass may instead keep the lease until
   * Redis reports its loss, because a renewal may still succeed.
   */
  protected lapse(error: LostError): void {
    this.lose(error);
  }

  /** Returns when a LeaseBook must look at this lease again, by `time.monotonicMs()`. */
  dueAt(): number {
    if (this.over || this.settling) return this.alarmAt;
    return Math.min(this.alarmAt, this.lapsed ? Infinity : this.endsAt, this.renewal ? Infinity : this.renewAt);
  }

  /** Returns true if a LeaseBook may renew the lease now. A lease may be renewed a little early, so that more leases share one call. */
  isDue(now: number): boolean {
    return !this.over && !this.settling && !this.renewal && now >= this.renewAt - this.leaseMs / 100;
  }

  /**
   * Called when a renewal of this lease was sent. A shorter `leaseMs` counts at once: even if the reply is lost, Redis may have set the
   * earlier end.
   */
  sent(sentAt: number): void {
    this.endsAt = Math.min(this.endsAt, this.endOf(sentAt));
    // A failed renewal must leave enough time for a second one.
    if (this.renews) this.renewAt = Math.min(this.renewAt, sentAt + this.leaseMs / 3);
  }

  /** Called when Redis has confirmed a renewal that was sent at `sentAt`. */
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

/** Object with the calls to Redis that a LeaseBook needs. */
export interface LeaseOwner<L extends Lease> {
  /**
   * Renews leases in Redis, each for its `leaseMs`.
   *
   * @param batch one lease, or several leases for which `batchOf` returns the same key
   * @param deadlineMs longest time until the reply, ms
   * @returns the leases that Redis does not have any more
   */
  renew(batch: readonly L[], deadlineMs: number): Promise<readonly L[]>;
  /** Called when a renewal has failed. The LeaseBook tries the renewal again later. Not called for `extend`, which throws the error. */
  renewalFailed(batch: readonly L[], error: unknown): void;
  /**
   * Returns a key, such as a partition. Leases with the same key are renewed together in one call, so they must have the same `leaseMs`.
   * Default: each lease is renewed alone.
   */
  batchOf?(lease: L): unknown;
  /** Maximum number of leases to renew in one call. Default: no limit. */
  readonly maxBatch?: number;
}

/**
 * The leases of one kind that this process holds, such as those of locks. Renews each lease after a third of its length, and marks it as
 * lost when it ends by the local clock.
 *
 * Most leases are held only for a moment, so adding and removing a lease must be fast. All leases share one timer.
 * See DECISIONS.md: one-timer-for-all-leases
 */
export class LeaseBook<L extends Lease> {
  private readonly leases: L[] = [];
  private timer: Timer | undefined;
  /** Latest time at which the timer must fire, by `time.monotonicMs()`. */
  private wakeAt = Infinity;

  constructor(private readonly owner: LeaseOwner<L>) {}

  /** Returns all leases that were added and not removed, also those that were lost, aborted or released. */
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

  /** Removes all leases and stops the timer. From now on nothing is renewed, until a lease is added again. */
  clear(): void {
    for (const lease of this.leases.splice(0)) lease.index = -1;
    time.clearTimer(this.timer);
    this.timer = undefined;
    this.wakeAt = Infinity;
  }

  /** Makes the timer fire earlier if this lease needs it. Call it after you have changed the lease, such as its `alarmAt`. */
  watch(lease: L): void {
    if (lease.index < 0) return;
    const dueAt = lease.dueAt();
    if (dueAt < this.wakeAt) this.wakeBy(dueAt);
  }

  /** Renews a lease at once, or right after the renewal in flight. The reply shows if Redis still has the lease. */
  renewNow(lease: L): void {
    const now = time.monotonicMs();
    lease.renewAt = Math.min(lease.renewAt, now);
    void lease.renewal
      ?.catch(() => undefined)
      .then(() => {
        lease.renewAt = Math.min(lease.renewAt, now);
        this.watch(lease);
      });
    this.watch(lease);
  }

  /** Records that some other call has renewed a lease. @param sentAt time at which this call was sent, by `time.monotonicMs()` */
  restarted(lease: L, sentAt: number): void {
    lease.restarted(sentAt);
    this.watch(lease);
  }

  /**
   * Renews a lease in Redis now. First waits for the renewal in flight.
   *
   * @param leaseMs new length of the lease, ms, also for later renewals; default: the length does not change
   * @throws the errors of `assertHeld` and of `renew`. If the renewal fails, the lease ends at the old or the new end, whichever is earlier
   */
  async extend(lease: L, leaseMs?: number): Promise<void> {
    lease.assertHeld();
    // With two renewals in flight, the reply to the older one could be taken for the reply to the newer one.
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
    // Each time the timer fires, all leases are checked, which takes longer for many leases. So the timer then fires less often, and an
    // AbortSignal may be aborted late.
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
    // `alarm()` of a lease may have removed this lease.
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

  /** @param again true: after a failure, calls `renewalFailed` and tries again later. False: throws the error */
  private send(batch: readonly L[], deadlineMs: number, again: boolean): Promise<void> {
    const sentAt = time.monotonicMs();
    for (const lease of batch) lease.sent(sentAt);
    const ended = (): void => {
      for (const lease of batch) {
        lease.renewal = undefined;
        this.watch(lease);
      }
    };
    // `renew` may throw without returning a promise. An async function turns this into a rejection.
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
        // The next try comes soon, because Redis may be available again before the lease ends.
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

/** Returns how long to wait for the reply to a renewal, ms: short enough for a second renewal before the leases end. */
function deadlineOf(batch: readonly Lease[], now: number): number {
  let ms = Infinity;
  for (const { leaseMs, endsAt } of batch) {
    ms = Math.min(ms, leaseMs, Math.max(50, leaseMs / 3), endsAt > now ? endsAt - now : Infinity);
  }
  return Math.ceil(ms);
}
