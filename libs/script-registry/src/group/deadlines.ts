import type { Call } from './call';
import type { Lane } from './lane';

/** Longest time between two readings of the clock while calls wait, ms. At most this much of a stall is counted. */
const STEP_MS = 10;

/** A timer that fires later than this was delayed by a busy process, ms. Smaller delays are normal. */
const LATE_MS = 5;

/** Number of past stalls that are kept, for calls with `since`. Such a call has seldom seen more than one. */
const KEPT_STALLS = 16;

/** A time in which this process was too busy to run its timers. */
interface Stall {
  /** When it ended, by `performance.now()`, ms. */
  readonly endedAt: number;
  readonly lastedMs: number;
}

/**
 * Deadlines of all calls: one timer, and a clock that stops during stalls of this process.
 *
 * Deadlines limit how long Redis may take. While this process is busy (rendering, collecting garbage, suspended) it writes no
 * call and reads no reply, so that time is not counted.
 * See DECISIONS.md: deadlines-ignore-own-stalls
 */
export class Deadlines {
  private timer: NodeJS.Timeout | undefined;
  /** When the timer fires, by `performance.now()`, ms. */
  private ringsAt = Infinity;
  /** No call is due before this time of this clock, ms. */
  private nextDue = Infinity;
  /** Sum of all stalls while calls waited, ms. */
  private stalledMs = 0;
  /** The latest stalls, oldest first. */
  private readonly stalls: Stall[] = [];
  private holding = false;

  /** @param busy lanes that have calls waiting or in flight */
  constructor(
    private readonly busy: ReadonlySet<Lane>,
    private readonly reject: (call: Call) => void,
  ) {}

  /** Returns the time of this clock when a call is due, ms. @param since start of the call by `performance.now()`, ms */
  dueAt(since: number, limitMs: number): number {
    return since + limitMs - this.stalledMs + this.stalledSince(since);
  }

  /** Sets the timer so that a call is checked at its deadline. @param expiresAt by this clock, ms */
  watch(expiresAt: number): void {
    if (expiresAt < this.nextDue) this.nextDue = expiresAt;
    if (expiresAt + this.stalledMs < this.ringsAt) this.ringBy(performance.now());
  }

  /** Keeps the process alive until the calls are settled. Without a connection nothing else would. */
  hold(): void {
    this.holding = true;
    this.timer?.ref();
  }

  /** Lets the process end: no calls are left. */
  rest(): void {
    if (!this.holding) return;
    this.holding = false;
    this.timer?.unref();
  }

  close(): void {
    clearTimeout(this.timer);
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
    // A call in flight has a socket, which keeps the process alive. Switching ref and unref for every call is not free.
    if (!this.holding) this.timer.unref();
  }

  private ring(): void {
    const rangAt = performance.now();
    const lateMs = rangAt - this.ringsAt;
    if (lateMs > LATE_MS) this.noteStall(rangAt, lateMs);
    const now = rangAt - this.stalledMs;
    // Set the timer before the work below, so that slow work counts as a stall.
    this.ringBy(rangAt);
    // Node runs timers before sockets. So a reply that came while this process was busy is read before calls expire.
    setImmediate(() => this.expire(now));
  }

  private expire(now: number): void {
    if (now >= this.nextDue) {
      this.nextDue = Infinity;
      for (const lane of [...this.busy]) {
        const next = lane.expire(now, this.reject);
        // Read after expire(): a rejected caller may have made a new call.
        this.nextDue = Math.min(this.nextDue, next);
      }
    }
    if (this.nextDue === Infinity || this.busy.size === 0) this.close();
  }
}
