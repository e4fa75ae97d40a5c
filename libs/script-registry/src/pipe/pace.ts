/**
 * Longest time that one group (calls that are sent as one command) should take in Redis, ms. While a script runs, Redis serves no other
 * client.
 */
export const GROUP_MS = 5;

/** Maximum number of calls in a group before the first reply to the script. */
const FIRST_CALLS = 16;

/** Largest factor by which one reply may raise the number of calls in a group. */
const GROWTH = 4;

const MEASURE_EVERY_MS = 100;

/** If a reply takes longer than this factor times the fastest reply, Redis or this process is busy. */
const CROWDED = 2;

/** Time after which the next reply counts as the fastest one, even if it is slower, ms: the network may have become slower. */
const FASTEST_FOR_MS = 10_000;

/**
 * Maximum number of calls in a group of one script. The class adjusts the number so that a group should not block Redis for longer than
 * `GROUP_MS`.
 *
 * The time from sending to reply includes the time that the script runs. So a reply within `GROUP_MS` proves that the group was small
 * enough. A later reply proves nothing, because the network and Redis' queue take time, too. After a late reply, the time in Redis is
 * measured: a group is sent between two TIME commands on the same connection.
 * See DECISIONS.md: group-bounded-by-time
 */
export class GroupPace {
  private limit: number;
  private perCallMs = Infinity;
  /** True if, since the last measurement, a reply took longer than `GROUP_MS`. */
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
   * True if the latest reply took much longer than the fastest one. In this case, Redis or this process is busy, and larger groups help.
   * They do not help if only the network is slow, because then the fastest reply is slow, too. Also true before the first reply.
   */
  get crowded(): boolean {
    return this.latestMs > CROWDED * this.fastestMs;
  }

  /**
   * Returns true if the next command should be measured in Redis.
   *
   * @param calls number of calls in the command
   * @param now time by `performance.now()`, ms
   */
  measures(calls: number, now: number): boolean {
    if (!this.late || (calls === 1 && this.limit > 1) || now - this.measuredAt < MEASURE_EVERY_MS) return false;
    this.measuredAt = now;
    return true;
  }

  /** Records the time from sending a command to its reply. `sentAt` and `now` are times of `performance.now()`, ms. */
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
   * @param ms the time in Redis, ms; undefined if the Redis user may not send TIME. Groups are then limited only by `maxCalls`.
   */
  measured(calls: number, ms: number | undefined): void {
    this.late = false;
    if (ms === undefined) {
      this.limit = this.maxCalls;
      this.measuredAt = Infinity;
      return;
    }
    // A measured time may be too long, because Redis' process may have been paused. It is too short only if the clock was set back. So a
    // shorter time counts at once, and a longer one by half.
    const perCallMs = ms / calls;
    this.perCallMs = perCallMs < this.perCallMs ? perCallMs : (this.perCallMs + perCallMs) / 2;
    this.limit = this.fitting(calls);
  }

  private fitting(calls: number): number {
    const most = Math.min(this.maxCalls, Math.max(calls, this.limit) * GROWTH);
    return Math.max(1, Math.min(most, Math.floor(GROUP_MS / this.perCallMs)));
  }
}
