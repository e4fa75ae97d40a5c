/** Longest time that one group should take in Redis, ms. While a script runs, Redis serves no other client. */
export const GROUP_MS = 5;

/** Maximum number of calls in the first groups of a script, before any reply came. */
const FIRST_CALLS = 16;

/** Largest factor by which one reply may raise the number of calls in a group. */
const GROWTH = 4;

const MEASURE_EVERY_MS = 100;

/** If a reply takes more than this many times as long as the fastest reply, Redis or this process is busy. */
const CROWDED = 2;

/** Time after which the next reply counts as the fastest one, even if it is slower, ms: the link may have become slower. */
const FASTEST_FOR_MS = 10_000;

/**
 * Size of the groups of one script, chosen so that a group should not block Redis for longer than `GROUP_MS`.
 *
 * The time from sending to reply is an upper bound of the script's time. A reply within `GROUP_MS` proves that the group was
 * small enough, without a measurement. A later reply proves nothing, because the network and Redis' queue take time too.
 * Then a group is measured in Redis, between two TIME commands on its connection.
 * See DECISIONS.md: group-bounded-by-time
 */
export class GroupPace {
  private limit: number;
  private perCallMs = Infinity;
  /** True if a reply came later than `GROUP_MS` since the last measurement in Redis. */
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
   * True if the latest reply took much longer than the link needs: then Redis or this process is busy, and larger groups help. They
   * do not help if only the link is slow. Also true before the first reply.
   */
  get crowded(): boolean {
    return this.latestMs > CROWDED * this.fastestMs;
  }

  /** Returns true if the next command, with this number of calls, should be measured in Redis. @param now by `performance.now()` */
  measures(calls: number, now: number): boolean {
    if (!this.late || (calls === 1 && this.limit > 1) || now - this.measuredAt < MEASURE_EVERY_MS) return false;
    this.measuredAt = now;
    return true;
  }

  /** Records when a command was sent and when its reply came, by `performance.now()`, ms. */
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
   * @param ms undefined if this user may not send TIME. Then the time no longer limits the groups.
   */
  measured(calls: number, ms: number | undefined): void {
    this.late = false;
    if (ms === undefined) {
      this.limit = this.maxCalls;
      this.measuredAt = Infinity;
      return;
    }
    // A measurement may be too high, because Redis' process may have been paused. It is too low only if the clock was set back.
    const perCallMs = ms / calls;
    this.perCallMs = perCallMs < this.perCallMs ? perCallMs : (this.perCallMs + perCallMs) / 2;
    this.limit = this.fitting(calls);
  }

  private fitting(calls: number): number {
    const most = Math.min(this.maxCalls, Math.max(calls, this.limit) * GROWTH);
    return Math.max(1, Math.min(most, Math.floor(GROUP_MS / this.perCallMs)));
  }
}
