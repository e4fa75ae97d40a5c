import { unlimitedListeners } from './abort-signals';
import { MAX_TIMER_MS } from './checks';
import type { LostError } from './errors';
import { time, type Timer } from './time';

/**
 * Reason why a lease is not held. `time`: it ended by the clock of this process. `latest`: its latest end was reached. `redis`: a
 * renewal did not find it in Redis. `settled`: it is being released or confirmed.
 */
export type LossCause = 'time' | 'latest' | 'redis' | 'settled';

/** By how much a lease ends sooner in this process than its length, ms: scripts round the time of Redis down to ms. */
const ROUNDING_MS = 1;

/**
 * Local side of something that Redis leases to this process: its end by the monotonic clock, and its signal. A lease counts from when
 * its call was sent, never from the reply, and so does each renewal.
 */
export abstract class Lease {
  /** Index in the list of its book, which sets it; -1 outside of a book. */
  index = -1;
  /** Length from now on, also of later renewals, ms. */
  leaseMs: number;
  /** End of the lease, by `time.monotonicMs()`. */
  endsAt: number;
  /** When the next renewal is due, by `time.monotonicMs()`; Infinity if no renewal is due. */
  renewAt: number;
  /** When the book calls `alarm()`, by `time.monotonicMs()`. Call `watch()` of the book after you set it. */
  alarmAt = Infinity;
  /** The renewal in flight. */
  renewal: Promise<void> | undefined;
  /** True once the lease is lost. It is not renewed any more. */
  over = false;
  /** True once `settle` was called. */
  settling = false;
  private lapsed = false;
  private controller: AbortController | undefined;
  private abortReason: Error | undefined;

  /**
   * @param sentAt `time.monotonicMs()` just before the call that began the lease was sent
   * @param leaseMs length of the lease, ms
   * @param renews false: the book does not renew the lease
   * @param latestAt time after which the lease ends although it was renewed, by `time.monotonicMs()`
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

  /** Returns the error for a loss. */
  abstract lossOf(cause: LossCause): LostError;

  /**
   * Signal that fires when the lease is lost or aborted before it is settled. It is made when it is first read, because most leases do
   * not need one.
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

  /** Must be called right before an action that must not happen without the lease. @throws the reason of the signal, or LostError */
  assertHeld(): void {
    if (!this.held) throw this.abortReason ?? this.lossOf('settled');
  }

  /** Fires the signal, but keeps and renews the lease: the work may need a moment to end. Only the first reason counts. */
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

  /** Stops the renewals: the lease is being released or confirmed, so it cannot be lost any more. Returns the renewal in flight. */
  settle(): Promise<void> | undefined {
    this.settling = true;
    return this.renewal;
  }

  /** Notices the end of the lease by the clock. */
  check(now = time.monotonicMs()): void {
    if (now < this.endsAt || this.over || this.settling || this.lapsed) return;
    this.lapsed = true;
    this.lapse(this.lossOf(now >= this.latestAt ? 'latest' : 'time'));
  }

  /** Called at `alarmAt`, once. */
  alarm(_now: number): void {}

  /** Called before each renewal that is due. If it settles the lease, the lease is not renewed. */
  beforeRenewal(): void {}

  /** Called when the signal fires, or would fire. */
  protected aborted(_reason: Error): void {}

  /** Called at the end by the clock. Override it for a lease that is renewed until Redis has lost it: a renewal may still succeed. */
  protected lapse(error: LostError): void {
    this.lose(error);
  }

  /** For the book: time at which it must look at the lease again. */
  dueAt(): number {
    if (this.over || this.settling) return this.alarmAt;
    return Math.min(this.alarmAt, this.lapsed ? Infinity : this.endsAt, this.renewal ? Infinity : this.renewAt);
  }

  /** For the book: true if the lease may be renewed now. A lease that is due soon may be renewed early, to make batches larger. */
  isDue(now: number): boolean {
    return !this.over && !this.settling && !this.renewal && now >= this.renewAt - this.leaseMs / 100;
  }

  /** For the book: a renewal is sent. A shorter length counts at once: Redis may have it although the reply is lost. */
  sent(sentAt: number): void {
    this.endsAt = Math.min(this.endsAt, this.endOf(sentAt));
    // If the call fails, there must be time for another one.
    if (this.renews) this.renewAt = Math.min(this.renewAt, sentAt + this.leaseMs / 3);
  }

  /** For the book: a call that was sent at this time has restarted the lease. */
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

/** Renews the leases of a book in Redis. */
export interface LeaseOwner<L extends Lease> {
  /**
   * Renews leases in Redis, each for its `leaseMs`.
   *
   * @param batch one lease; with `batchOf`, several of one batch
   * @param deadlineMs longest time until the reply, ms
   * @returns the leases that are lost
   */
  renew(batch: readonly L[], deadlineMs: number): Promise<readonly L[]>;
  /** Called when a renewal has failed. The book tries it again later. A failure of `extend` is thrown instead. */
  renewalFailed(batch: readonly L[], error: unknown): void;
  /** Returns what the leases of a batch have in common, such as their partition. They must have one length. Default: no batches. */
  batchOf?(lease: L): unknown;
  /** Largest batch. Default: no limit. */
  readonly maxBatch?: number;
}

/**
 * Leases of one kind in this process. Renews each at a third of its length, and notices its end by the clock.
 *
 * Most leases are held only for a moment. So adding and removing a lease are cheap, and one timer serves all leases.
 * See DECISIONS.md: one-timer-for-all-leases
 */
export class LeaseBook<L extends Lease> {
  private readonly leases: L[] = [];
  private timer: Timer | undefined;
  /** When the timer must fire at the latest, by `time.monotonicMs()`. */
  private wakeAt = Infinity;

  constructor(private readonly owner: LeaseOwner<L>) {}

  /** All leases that were added and not removed: also those that are lost, aborted or settled. */
  get all(): readonly L[] {
    return this.leases;
  }

  add(lease: L): void {
    lease.index = this.leases.length;
    this.leases.push(lease);
    this.watch(lease);
  }

  /** Removes a lease. May be called twice. */
  remove(lease: L): void {
    const { index } = lease;
    if (index < 0) return;
    lease.index = -1;
    const last = this.leases.pop() as L;
    if (last === lease) return;
    this.leases[index] = last;
    last.index = index;
  }

  /** Must be called when a lease must act sooner than before, such as after `alarmAt` was set. */
  watch(lease: L): void {
    if (lease.index < 0) return;
    const dueAt = lease.dueAt();
    if (dueAt < this.wakeAt) this.wakeBy(dueAt);
  }

  /** Renews a lease now, or right after the renewal in flight. The reply shows if the lease is lost. */
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

  /** Notes that another call than a renewal has restarted a lease. @param sentAt `time.monotonicMs()` just before it was sent */
  restarted(lease: L, sentAt: number): void {
    lease.restarted(sentAt);
    this.watch(lease);
  }

  /**
   * Restarts a lease in Redis now, after the renewal in flight.
   *
   * @param leaseMs length from now on, also of later renewals; default: as before
   * @throws the errors of `assertHeld` and of `renew`. If it fails, the lease keeps its end, or ends after `leaseMs` if that is sooner
   */
  async extend(lease: L, leaseMs?: number): Promise<void> {
    lease.assertHeld();
    // One renewal at a time: the reply to an older one must not count for a newer one.
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
    // Each time the timer fires, it looks at all leases. So with many of them it fires less often, and a signal may be late.
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
    // The lease may have been removed by another one, or by its own alarm.
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

  /** @param again true: a failure is reported and tried again, not thrown */
  private send(batch: readonly L[], deadlineMs: number, again: boolean): Promise<void> {
    const sentAt = time.monotonicMs();
    for (const lease of batch) lease.sent(sentAt);
    const ended = (): void => {
      for (const lease of batch) {
        lease.renewal = undefined;
        this.watch(lease);
      }
    };
    // `async`, so that the promise rejects if `renew` throws at once.
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
        // Redis may reply before the lease ends.
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

/** Returns how long a renewal waits for its reply, ms: short enough that another one can follow before the leases end. */
function deadlineOf(batch: readonly Lease[], now: number): number {
  let ms = Infinity;
  for (const { leaseMs, endsAt } of batch) {
    ms = Math.min(ms, leaseMs, Math.max(50, leaseMs / 3), endsAt > now ? endsAt - now : Infinity);
  }
  return Math.ceil(ms);
}
