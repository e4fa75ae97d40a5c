/** How long one group should hold Redis at most, ms: while a script runs, Redis serves no other client. */
export const GROUP_MS = 5;

/** Calls in a group while nothing is known of the script. */
const FIRST_CALLS = 16;

/** How many times larger a group may be than the one that was seen to be quick. */
const GROWTH = 4;

const MEASURE_EVERY_MS = 100;

/**
 * How many calls of one script may leave as one group, so that the group holds Redis no longer than `GROUP_MS`.
 *
 * The time from sending to answer is an upper bound of what the script took. A group that was answered within `GROUP_MS`
 * proves that it was small enough, and costs no measurement. One that was answered later proves nothing: the link and the
 * queue in front of Redis may have taken the time. Then a group is measured in Redis, between two TIMEs on its connection.
 * See DECISIONS.md: group-bounded-by-time
 */
export class GroupPace {
  private limit: number;
  private perCallMs = Infinity;
  private late = false;
  private measuredAt = -Infinity;

  constructor(private readonly maxCalls: number) {
    this.limit = Math.min(maxCalls, FIRST_CALLS);
  }

  /** Most calls of the next group. */
  get calls(): number {
    return this.limit;
  }

  /** Returns true if the times of a command with so many calls are worth looking at: a lone call's mostly are not. */
  watches(calls: number): boolean {
    return calls > 1 || this.limit < this.maxCalls;
  }

  /** Returns true if the next command, of so many calls, should be measured in Redis. @param now by `performance.now()` */
  measures(calls: number, now: number): boolean {
    if (!this.late || (calls === 1 && this.limit > 1) || now - this.measuredAt < MEASURE_EVERY_MS) return false;
    this.measuredAt = now;
    return true;
  }

  /** Takes the time from the sending of a command to its answer. */
  answered(calls: number, ms: number): void {
    if (ms > GROUP_MS) this.late = true;
    else if (this.limit < this.maxCalls) {
      this.perCallMs = Math.min(this.perCallMs, ms / calls);
      this.limit = Math.max(this.limit, this.fitting(calls));
    }
  }

  /** Takes the time that Redis needed for a command; undefined where the user may not ask for it, so there is no limit. */
  measured(calls: number, ms: number | undefined): void {
    this.late = false;
    if (ms === undefined) {
      this.limit = this.maxCalls;
      this.measuredAt = Infinity;
      return;
    }
    // One look may be too high, since Redis' process is not always running; it is never too low.
    const perCallMs = ms / calls;
    this.perCallMs = perCallMs < this.perCallMs ? perCallMs : (this.perCallMs + perCallMs) / 2;
    this.limit = this.fitting(calls);
  }

  private fitting(calls: number): number {
    const most = Math.min(this.maxCalls, Math.max(calls, this.limit) * GROWTH);
    return Math.max(1, Math.min(most, Math.floor(GROUP_MS / this.perCallMs)));
  }
}
