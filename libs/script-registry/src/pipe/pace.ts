/**
 * Calls that are sent together as one command (a group) should keep Redis busy for at most this time, ms, because Redis serves no other
 * client meanwhile.
 */
export const GROUP_MS = 5;

/** Maximum number of calls that are sent together before Redis has replied to this script for the first time. */
const FIRST_CALLS = 16;

/** Largest factor by which one reply may raise the number of calls in a group. */
const GROWTH = 4;

const MEASURE_EVERY_MS = 100;

/** Redis or this process counts as busy if a reply takes more than this many times as long as the fastest reply. */
const CROWDED = 2;

/** The network may have become slower, so a fastest reply counts for this time only, ms. */
const FASTEST_FOR_MS = 10_000;

/**
 * Adjusts how many calls of a script are sent together as a group, so that a group keeps Redis busy for about `GROUP_MS` at most.
 *
 * A reply within `GROUP_MS` proves that the group was small enough, because this time includes the run of the script. A later reply proves
 * nothing, because it may have waited in the network or in Redis' queue. After one, the time in Redis is measured: a group is sent between
 * two TIME commands on the same connection.
 * See DECISIONS.md: group-bounded-by-time
 */
export class GroupPace {
  private limit: number;
  private perCallMs = Infinity;
  /** True if a reply took longer than `GROUP_MS` since the time in Redis was last measured. */
  private late = false;
  private measuredAt = -Infinity;
  private latestMs = Infinity;
  private fastestMs = 0;
  private fastestAt = -Infinity;

  constructor(private readonly maxCalls: number) {
    this.limit = Math.min(maxCalls, FIRST_CALLS);
  }

  /** Maximum number of calls that the next group may have. */
  get calls(): number {
    return this.limit;
  }

  /**
   * True before the first reply, and if the latest reply took much longer than the fastest one. Redis or this process is then busy, and
   * larger groups help. If only the network is slow, the fastest reply is slow, too.
   */
  get crowded(): boolean {
    return this.latestMs > CROWDED * this.fastestMs;
  }

  /**
   * Returns true if the time in Redis should be measured for the next command.
   *
   * @param calls number of calls in the command
   * @param now time by `performance.now()`, ms
   */
  measures(calls: number, now: number): boolean {
    if (!this.late || (calls === 1 && this.limit > 1) || now - this.measuredAt < MEASURE_EVERY_MS) return false;
    this.measuredAt = now;
    return true;
  }

  /** Records how long the reply to a command took. `sentAt` and `now` are times by `performance.now()`, ms. */
  answered(calls: number, sentAt: number, now: number): void {
    const ms = now - sentAt;
    this.latestMs = ms;
    if (ms <= this.fastestMs || now - this.fastestAt > FASTEST_FOR_MS) {
      this.fastestMs = ms;
      this.fastestAt = now;
    }
    if (ms > GROUP_MS) this.late = true;
    else if (this.limit < this.maxCalls) {
      this.perCallMs = Math.min(this.perCallMs, ms / calls);
      this.limit = Math.max(this.limit, this.fitting(calls));
    }
  }

  /**
   * Records the time that Redis needed for a command.
   *
   * @param ms the time, ms; undefined if the Redis user may not send TIME. Only `maxCalls` limits the groups then
   */
  measured(calls: number, ms: number | undefined): void {
    this.late = false;
    if (ms === undefined) {
      this.limit = this.maxCalls;
      this.measuredAt = Infinity;
      return;
    }
    // A measured time is too long if Redis was paused meanwhile, and too short only if the clock of Redis was set back. So a shorter time
    // replaces the previous time, and a longer time is averaged with it.
    const perCallMs = ms / calls;
    this.perCallMs = perCallMs < this.perCallMs ? perCallMs : (this.perCallMs + perCallMs) / 2;
    this.limit = this.fitting(calls);
  }

  private fitting(calls: number): number {
    const most = Math.min(this.maxCalls, Math.max(calls, this.limit) * GROWTH);
    return Math.max(1, Math.min(most, Math.floor(GROUP_MS / this.perCallMs)));
  }
}
