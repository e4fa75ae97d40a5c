import type { Logger } from '@nestjs/common';
import { NotSentError, UnknownOutcomeError, type ScriptRegistry } from 'luanest/script-registry';
import { SetupError, type Page } from '../../../internal/src';
import { addActivity, fixPartitions, listActivities, pageActivities, retireActivity } from './list.scripts';

/**
 * After the TTL of an activity's keys was set, the activity stays in the list for this time, ms, or until its retention ends if that is
 * later. The keys expire earlier than this: after at most a day and a minute, or soon after the retention.
 */
const KEPT_MS = 86_400_000 + 120_000;
/** Deadline of the check at boot, ms. */
const DEADLINE_MS = 1_000;

/**
 * List of all activities in Redis, for operators. Grabs and payouts do not need it. Next to the list, Redis stores the number of
 * partitions (hash tags over which activities are sharded), which cannot change while there are activities.
 */
export class ActivityList {
  private readonly keys: { readonly activities: string; readonly settled: string; readonly partitions: string };

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly partitions: number,
  ) {
    // The hash tag `activities` cannot be that of an activity, because hash tags of activities are numbers.
    const tag = registry.keySpace('red-packet').tag('activities');
    this.keys = { activities: tag.key('activities'), settled: tag.key('settled'), partitions: tag.key('partitions') };
  }

  /** @throws SetupError if there are activities with another number of partitions. If Redis does not reply, only a warning is logged */
  async checkPartitions(logger: Pick<Logger, 'warn'>): Promise<void> {
    try {
      await this.compareStored({ deadlineMs: DEADLINE_MS });
    } catch (error) {
      if (!(error instanceof NotSentError || error instanceof UnknownOutcomeError)) throw error;
      logger.warn(
        'Redis did not reply, so the option partitions was not compared with the activities in Redis. The app boots. If another number ' +
          'of partitions was used before, users may get no packets. Start Redis, then restart the app to check this.',
      );
    }
  }

  /**
   * Checks that Redis and this process have the same number of partitions. Call it before you treat a missing key as lost, because a
   * process with another number of partitions uses other keys.
   *
   * @throws SetupError if there are activities with another number of partitions; the errors of ScriptRegistry.run()
   */
  async compareStored(options: { readonly deadlineMs?: number } = {}): Promise<void> {
    const { keys, partitions } = this;
    this.compare(await this.registry.run(fixPartitions, { keys, args: { partitions } }, options));
  }

  /**
   * Adds an activity to the list.
   *
   * @param fromMs time from which the retention counts, ms since 1970: the end of the activity, or its start if the end is the default. A
   *   time in the past, such as 0, counts as now
   * @throws SetupError if there are activities with another number of partitions
   */
  async add(activityId: string, retentionMs: number, fromMs: number): Promise<void> {
    const { keys, partitions } = this;
    this.compare(await this.registry.run(addActivity, { keys, args: { activityId, partitions, retentionMs, fromMs } }));
  }

  /** Notes that the keys of an activity have a TTL or do not exist, so that its id leaves the list when they have expired. */
  async retire(activityId: string, exists: boolean): Promise<void> {
    const { activities, settled } = this.keys;
    const args = { activityId, keepMs: exists ? KEPT_MS : 0 };
    await this.registry.run(retireActivity, { keys: { activities, settled }, args });
  }

  /** Keeps an activity in the list, because it still owes a payout or a refund although its retention is over. */
  async keep(activityId: string): Promise<void> {
    await this.add(activityId, 1, 0);
  }

  all(): Promise<string[]> {
    const { activities, settled } = this.keys;
    return this.registry.run(listActivities, { keys: { activities, settled }, args: {} });
  }

  /**
   * Returns a page of the ids. The activity whose retention ends last comes first.
   *
   * @param cursor `nextCursor` of the page before
   */
  async page(limit: number, cursor = '0:'): Promise<Page<string> & { readonly total: number }> {
    const { activities, settled } = this.keys;
    const [, beforeMs = '0', beforeId = ''] = /^(\d{1,15}):(.*)$/s.exec(cursor) ?? [];
    const args = { beforeMs: Number(beforeMs), beforeId, limit: limit + 1 };
    const { items, total } = await this.registry.run(pageActivities, { keys: { activities, settled }, args });
    const ids = items.slice(0, limit).map(({ activityId }) => activityId);
    const last = items[limit - 1];
    if (items.length <= limit || last === undefined) return { items: ids, total };
    return { items: ids, total, nextCursor: `${last.atMs}:${last.activityId}` };
  }

  private compare(stored: number): void {
    if (stored === this.partitions) return;
    throw new SetupError(
      `RedPacketModule: partitions is ${this.partitions}, but Redis has activities with ${stored} partitions, which this app would ` +
        `not find. Set partitions to ${stored}, or wait until activities() lists no activity.`,
    );
  }
}
