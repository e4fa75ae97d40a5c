import type { Call } from './call';
import type { Lane } from './lane';

/** Longest time between two looks at the clock while calls wait, ms: a stall of this process counts as no longer. */
const STEP_MS = 10;

/** A timer that rings later than this was held up by this process, ms; what is less is how timers are. */
const LATE_MS = 5;

/** Stalls that are kept, for calls that share the budget of an earlier call; a budget has seldom seen more than one. */
const KEPT_STALLS = 16;

/** One stall of this process. */
interface Stall {
  /** When it ended, by `performance.now()`, ms. */
  readonly endedAt: number;
  readonly lastedMs: number;
}

/**
 * One timer for all calls, and a clock that stands still while this process does.
 *
 * Deadlines limit how long Redis may take. While this process is busy (rendering, collecting garbage, being suspended) it
 * writes no call and reads no reply, so that time says nothing of Redis and is not counted.
 * See DECISIONS.md: deadlines-ignore-own-stalls
 */
export class Deadlines {
  private timer: NodeJS.Timeout | undefined;
  /** When the timer rings, by `performance.now()`, ms. */
  private ringsAt = Infinity;
  /** No call is due before, by this clock, ms. */
  private nextDue = Infinity;
  /** How long this process stood still while calls waited, ms. */
  private stalledMs = 0;
  /** The last stalls, oldest first. */
  private readonly stalls: Stall[] = [];
  private holding = false;

  /** @param busy lanes that have calls waiting or out */
  constructor(
    private readonly busy: ReadonlySet<Lane>,
    private readonly reject: (call: Call) => void,
  ) {}

  /** Returns when a call is due that began at an instant of `performance.now()`, by this clock, ms. */
  dueAt(since: number, limitMs: number): number {
    return since + limitMs - this.stalledMs + this.stalledSince(since);
  }

  /** Makes sure that calls are looked at then. @param expiresAt by this clock, ms */
  watch(expiresAt: number): void {
    if (expiresAt < this.nextDue) this.nextDue = expiresAt;
    if (expiresAt + this.stalledMs < this.ringsAt) this.ringBy(performance.now());
  }

  /** Keeps the process alive until the calls are settled: nothing else may do so while there is no connection. */
  hold(): void {
    this.holding = true;
    this.timer?.ref();
  }

  /** No call is in flight: the timer may go on, but not hold the process. */
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

  /** Returns how long this process stood still after an instant of `performance.now()`, ms. */
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

  /** Sets the timer to the first call that is due, or to the next step. */
  private ringBy(now: number): void {
    const dueAt = this.nextDue + this.stalledMs;
    this.ringsAt = dueAt > now ? Math.min(dueAt, now + STEP_MS) : now + STEP_MS;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ring(), Math.max(1, Math.ceil(this.ringsAt - now)));
    // A call that is out has a socket that holds the process; switching this for every call is not free.
    if (!this.holding) this.timer.unref();
  }

  private ring(): void {
    const rangAt = performance.now();
    const lateMs = rangAt - this.ringsAt;
    if (lateMs > LATE_MS) this.noteStall(rangAt, lateMs);
    const now = rangAt - this.stalledMs;
    // Before what follows in this turn, so that it counts as a stall if it takes long.
    this.ringBy(rangAt);
    // Timers come before sockets: a reply that came while this process was busy is read first, and is not late.
    setImmediate(() => this.expire(now));
  }

  private expire(now: number): void {
    if (now >= this.nextDue) {
      this.nextDue = Infinity;
      for (const lane of [...this.busy]) {
        const next = lane.expire(now, this.reject);
        // Read now: who is rejected may have made a call.
        this.nextDue = Math.min(this.nextDue, next);
      }
    }
    if (this.nextDue === Infinity || this.busy.size === 0) this.close();
  }
}
