import { time } from '../../../internal/src';
import { WOKEN_KEPT, type ActivityIndex } from '../activity/activity-index';
import type { Look } from '../activity/index.scripts';

/** Most activities of the index that one search looks at, unless it looks at all of them; and most that failed before. */
const LOOKS = 32;
/** Activities that are looked at in parallel when a search looks at all of them. */
const LOOKS_AT_ONCE = 128;
/** Woken activities that one call lists. */
const WOKEN = 1_000;
/** A score above all others. A poll with it lists nothing, and notes the highest score and that wakes may have been missed. */
const UNREAD = Number.MAX_SAFE_INTEGER;

// See DECISIONS.md: winners-wake-payout-runs
/**
 * Finds activities that a payout run must check. `poll` finds those that were woken, for example because a packet was won.
 * `search` looks at the activities of the index in turn, and finds those that were not woken, and those that may be settled.
 */
export class ActivityFinder {
  /** Score up to which the list of woken activities was read. */
  private after = UNREAD;
  /** True if wakes may have been missed. Then the next search looks at all activities. */
  private missed = true;
  private cursor = '0';
  /** Ids of a page of the index that were not looked at yet. */
  private page: string[] = [];
  /** Activities that could not be looked at. The next searches look at them again. */
  private readonly failed = new Map<string, { readonly countDead: boolean }>();
  /**
   * Activities that were just checked. Until the time here (by `time.monotonicMs()`), a search finds one of them only if it has open
   * payouts.
   */
  private readonly resting = new Map<string, number>();
  private stopped = false;

  /** @param found called with each activity to check; `isReachable` is true if Redis has just replied to a call for it */
  constructor(
    private readonly index: Pick<ActivityIndex, 'page' | 'look' | 'wokenAfter'>,
    private readonly found: (activityId: string, isReachable: boolean) => void,
  ) {}

  /** Finds the activities that were woken since the last poll. @throws the errors of ScriptRegistry.run() */
  async poll(): Promise<void> {
    try {
      let listed = 0;
      for (let count = WOKEN; count === WOKEN;) {
        const { lost, last, ids } = await this.index.wokenAfter(this.after, WOKEN);
        count = ids.length;
        listed += count;
        // An activity leaves the list only if so many were woken after it.
        if (lost || listed >= WOKEN_KEPT) this.missed = true;
        this.after = last;
        for (const activityId of ids) this.found(activityId, false);
      }
    } catch (error) {
      // Redis may have lost wakes, for example in a failover. So the next poll that succeeds starts again.
      this.after = UNREAD;
      throw error;
    }
  }

  /**
   * Looks at the next activities of the index, and at some that could not be looked at before. Looks at all of the index if wakes
   * may have been missed, and then also at dead-lettered payouts, which a process that starts must report.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async search(): Promise<void> {
    const all = this.missed;
    if (all) [this.missed, this.cursor, this.page] = [false, '0', []];
    let left = all ? Infinity : LOOKS;
    let failure: { readonly error: unknown } | undefined;
    const lookAt = async (activityId: string): Promise<void> => {
      const countDead = all || (this.failed.get(activityId)?.countDead ?? false);
      this.failed.delete(activityId);
      try {
        await this.look(activityId, countDead);
      } catch (error) {
        failure ??= { error };
        this.failed.set(activityId, { countDead });
      }
    };
    const again = [...this.failed.keys()].slice(0, LOOKS);
    for (let more = true; more && left > 0 && !this.stopped;) {
      if (this.page.length === 0) await this.readPage();
      const ids = this.page.splice(0, Math.min(left, LOOKS_AT_ONCE));
      left -= ids.length;
      await Promise.all([...again.splice(0), ...ids].map(lookAt));
      more = this.page.length > 0 || this.cursor !== '0';
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Until the time is over, `search` finds an activity only if it has open payouts. */
  rest(activityId: string, ms: number): void {
    this.resting.set(activityId, time.monotonicMs() + ms);
  }

  /** Makes a search that is running end early. */
  stop(): void {
    this.stopped = true;
  }

  private async readPage(): Promise<void> {
    try {
      const { cursor, ids } = await this.index.page(this.cursor, LOOKS_AT_ONCE);
      [this.cursor, this.page] = [cursor, [...ids]];
    } catch (error) {
      this.missed = true;
      throw error;
    }
    if (this.cursor !== '0') return;
    const now = time.monotonicMs();
    for (const [activityId, until] of this.resting) if (until <= now) this.resting.delete(activityId);
  }

  private async look(activityId: string, countDead: boolean): Promise<void> {
    const looks = await this.index.look(activityId, countDead);
    const open = looks.some((look) => look.open > 0);
    const rests = (this.resting.get(activityId) ?? 0) > time.monotonicMs();
    if (open || (!rests && mustBeChecked(looks))) this.found(activityId, true);
  }
}

/**
 * Returns true if an activity without open payouts must be checked: it may be over, Redis may have forgotten it, or it has
 * dead-lettered payouts. The clock of this process decides when to check; what the check does depends on Redis' clock.
 */
function mustBeChecked(looks: readonly Look[]): boolean {
  const now = time.nowMs();
  if (looks.every(({ settled }) => settled)) return false;
  return looks.some(({ dead, state, endsAtMs, expiresAtMs }) => {
    if (state === 'draft') return now >= expiresAtMs;
    return dead > 0 || (state !== 'open' && state !== 'paused') || now >= endsAtMs;
  });
}
