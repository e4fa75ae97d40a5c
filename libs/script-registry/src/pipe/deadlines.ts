import { nextTurn } from '../../../internal/src';
import type { Call } from './call';

/** Longest time between two readings of the clock while calls wait, ms, if this process is not stalled. */
const STEP_MS = 10;

/** Delay of a timer from which on this process counts as stalled, ms. Smaller delays are normal. */
const LATE_MS = 5;

/** Number of past stalls that are kept, for calls with `startedAtMs` in the past. They have seldom seen more than one stall. */
const KEPT_STALLS = 16;

/** A time in which this process was too busy to run its timers. */
interface Stall {
  /** When the stall ended, by `performance.now()`, ms. */
  readonly endedAt: number;
  readonly lastedMs: number;
}

/**
 * Deadlines of all calls. They have one timer, and a clock that stops during stalls of this process.
 *
 * Deadlines limit how long Redis may take. During a stall (rendering, garbage collection, a suspended machine) this process
 * writes no call and reads no reply, so that time is not counted, but for about its first 10 ms.
 * See DECISIONS.md: deadlines-ignore-own-stalls
 */
export class Deadlines {
  private timer: NodeJS.Timeout | undefined;
  /** When the timer fires, by `performance.now()`, ms. */
  private ringsAt = Infinity;
  /** No call expires before this time, by the clock of this class, ms. */
  private nextDue = Infinity;
  /** Sum of all stalls while calls waited, ms. */
  private stalledMs = 0;
  /** The latest stalls, oldest first. */
  private readonly stalls: Stall[] = [];
  private holding = false;
  /**
   * The calls that are not settled, as a ring of neighbours that begins and ends here. A Set would keep ended calls in memory for a
   * while, see DECISIONS.md: no-set-on-the-hot-path
   */
  private readonly unsettled: { previous: Call; next: Call };

  /**
   * @param reject rejects a call at its deadline
   * @param checked called after each check of the deadlines. Returns false if no call is waiting or in flight
   */
  constructor(
    private readonly reject: (call: Call) => void,
    private readonly checked: (expired: boolean) => boolean,
  ) {
    const head = {} as Call;
    this.unsettled = Object.assign(head, { previous: head, next: head });
  }

  /** Returns when a call expires, by the clock of this class, ms. @param since start of the call, by `performance.now()`, ms */
  dueAt(since: number, limitMs: number): number {
    return since + limitMs - this.stalledMs + this.stalledSince(since);
  }

  /** Rejects the call at its deadline, unless it is settled before. */
  watch(call: Call): void {
    const { expiresAt } = call;
    const { unsettled } = this;
    const last = unsettled.previous;
    call.previous = last;
    call.next = unsettled as Call;
    last.next = unsettled.previous = call;
    if (expiresAt < this.nextDue) this.nextDue = expiresAt;
    if (expiresAt + this.stalledMs < this.ringsAt) this.ringBy(performance.now());
  }

  /** Keeps the process alive until no call waits or is in flight: without a connection, no socket does so. */
  hold(): void {
    this.holding = true;
    this.timer?.ref();
  }

  /** Rejects all calls that are not settled. */
  rejectAll(): void {
    for (const call of this.calls()) this.reject(call);
  }

  close(): void {
    clearTimeout(this.timer);
    this.holding = false;
    this.timer = undefined;
    this.ringsAt = Infinity;
    this.nextDue = Infinity;
  }

  /** Returns the sum of the stalls after a time of `performance.now()`, ms. */
  private stalledSince(since: number): number {
    let ms = 0;
    for (let i = this.stalls.length - 1; i >= 0; i--) {
      const { endedAt, lastedMs } = this.stalls[i] as Stall;
      if (endedAt <= since) break;
      ms += Math.min(lastedMs, endedAt - since);
    }
    return ms;
  }

  private noteStall(endedAt: number, lastedMs: number): void {
    this.stalledMs += lastedMs;
    this.stalls.push({ endedAt, lastedMs });
    if (this.stalls.length > KEPT_STALLS) this.stalls.shift();
  }

  /** Sets the timer to the next deadline, but at most `STEP_MS` ahead. */
  private ringBy(now: number): void {
    const dueAt = this.nextDue + this.stalledMs;
    this.ringsAt = dueAt > now ? Math.min(dueAt, now + STEP_MS) : now + STEP_MS;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ring(), Math.max(1, Math.ceil(this.ringsAt - now)));
    // The timer need not keep the process alive for a call in flight, which has a socket. To switch it for every call is slow.
    if (!this.holding) this.timer.unref();
  }

  private ring(): void {
    const rangAt = performance.now();
    const lateMs = rangAt - this.ringsAt;
    if (lateMs > LATE_MS) this.noteStall(rangAt, lateMs);
    const now = rangAt - this.stalledMs;
    // The timer is set before the work below, so that slow work counts as a stall.
    this.ringBy(rangAt);
    // Node runs timers before sockets, and setImmediate after both. So replies that have arrived are read before calls expire.
    nextTurn(() => this.expire(now));
  }

  private expire(now: number): void {
    const due = now >= this.nextDue ? this.calls().filter((call) => call.expiresAt <= now) : [];
    // A subscriber of `callFailed` may make a new call meanwhile, so the next deadline is read afterwards.
    for (const call of due) this.reject(call);
    if (due.length > 0 || now >= this.nextDue) {
      this.nextDue = this.calls().reduce((next, { expiresAt }) => Math.min(next, expiresAt), Infinity);
    }
    if (!this.checked(due.length > 0) || this.nextDue === Infinity) this.close();
  }

  private calls(): Call[] {
    const calls: Call[] = [];
    const { unsettled } = this;
    for (let call = unsettled.next; call !== unsettled; call = call.next as Call) calls.push(call);
    return calls;
  }
}
