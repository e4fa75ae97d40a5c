import type { ScriptRegistry } from 'luanest/script-registry';
import type { Layouts } from '../buckets/layout';
import {
  indexActivity,
  listActivities,
  listWoken,
  lookAtBucket,
  scanActivities,
  unlistActivity,
  wakeActivities,
  type Look,
} from './index.scripts';

/** Activities that the list of woken activities keeps: those that were woken last. wake-activities.lua has the same number. */
export const WOKEN_KEPT = 10_000;

/** The index of all activities, and the list of woken activities, which payout runs check soon. */
export class ActivityIndex {
  // No activity has keys with these names, not even one with the id `activities`.
  private readonly index: string;
  private readonly woken: string;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
  ) {
    const tag = registry.keySpace('red-packet').tag('activities');
    [this.index, this.woken] = [tag.key('index'), tag.key('woken')];
  }

  /** @param fromMs end of the activity, or its start if it has no end, ms since 1970; 0 for now */
  async add(activityId: string, retentionMs: number, fromMs: number): Promise<void> {
    await this.registry.run(indexActivity, {
      keys: { index: this.index },
      args: { activityId, retentionMs, fromMs },
    });
  }

  all(): Promise<string[]> {
    return this.registry.run(listActivities, { keys: { index: this.index }, args: {} });
  }

  /** Reads a page. @param cursor '0' for the first page @returns the ids, and the cursor of the next page, '0' after the last one */
  page(cursor: string, count: number): Promise<{ readonly cursor: string; readonly ids: readonly string[] }> {
    return this.registry.run(scanActivities, { keys: { index: this.index }, args: { cursor, count } });
  }

  /** Removes an activity that Redis has forgotten. Does nothing before the time in the index: it may have been created again. */
  async remove(activityId: string): Promise<void> {
    await this.registry.run(unlistActivity, { keys: { index: this.index }, args: { activityId } });
  }

  /** @param activityIds 1 to 1,000 activities */
  async wake(activityIds: readonly string[]): Promise<void> {
    await this.registry.run(wakeActivities, { keys: { woken: this.woken }, args: { activityIds } });
  }

  /**
   * Lists activities that were woken after those that an earlier call listed.
   *
   * @param after `last` of the earlier call
   * @returns `lost`: true if Redis knows no score as high as `after`, so that it may have lost some
   */
  wokenAfter(after: number, count: number): Promise<{ lost: boolean; last: number; ids: readonly string[] }> {
    return this.registry.run(listWoken, { keys: { woken: this.woken }, args: { after, count } });
  }

  /**
   * Reads each bucket of an activity. If this process does not know that there are several buckets, reads the root.
   *
   * @param countDead true: counts dead-lettered payouts too
   */
  look(activityId: string, countDead: boolean): Promise<Look[]> {
    const args = { countDead: countDead ? 1 : 0 };
    const { buckets } = this.layouts.of(activityId);
    return Promise.all(
      buckets.map(({ meta, outbox, dead }) => this.registry.run(lookAtBucket, { keys: { meta, outbox, dead }, args })),
    );
  }
}
