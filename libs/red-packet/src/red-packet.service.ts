import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { DelayedTaskService } from 'luanest/delayed-task';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { Creation } from './activity/creation';
import { Lifecycle } from './activity/lifecycle';
import { Closing } from './activity/closing';
import { ResultList } from './activity/result-list';
import { Results } from './activity/results';
import { Audit } from './audit/audit';
import type { AuditOptions, AuditReport } from './audit/audit.types';
import { homeOf, Layouts } from './buckets/layout';
import { Refills } from './buckets/refills';
import { Transfers } from './buckets/transfers';
import { Grabber } from './grabs/grabber';
import { SoldOutUsers } from './grabs/sold-out-users';
import { requirePermissions } from './permissions';
import { checkActivity, checkActivityId, checkPacket, checkPacketId, checkUserId } from './red-packet.input';
import type { EligibilityCheck, RedPacketServiceOptions } from './red-packet.options';
import { listActivities, unlistActivity } from './activity/activity.scripts';
import type {
  ActivityState,
  ActivityStatus,
  ClosedActivity,
  CreateActivity,
  CreatedActivity,
  GrabResult,
  GrantRecord,
  Packet,
  PayoutConflict,
  RecordsPage,
  ResultsPage,
  VoidedGrant,
} from './red-packet.types';

const NOT_ELIGIBLE: GrabResult = Object.freeze({ code: '-5', outcome: 'not-eligible' });

/** Services of other libs that red packets use if the app has them. */
export interface RedPacketHelpers {
  /** Reads dead letters for deep audits. */
  readonly streams?: StreamConsumerService | undefined;
  /** Closes activities at their ends. */
  readonly tasks?: DelayedTaskService | undefined;
  /** Name of the ScriptRegistry; '' for the registry without a name. */
  readonly registryName?: string;
}

/** Red packets: splits a total into packets, grants each packet to one user, and writes a payout row for each grant. */
export class RedPacketService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(RedPacketService.name);
  private readonly layouts: Layouts;
  private readonly soldOutUsers: SoldOutUsers;
  private readonly grabber: Grabber;
  private readonly creation: Creation;
  private readonly lifecycle: Lifecycle;
  private readonly closing: Closing;
  private readonly grants: Results;
  private readonly resultList: ResultList;
  private readonly auditor: Audit;
  /** Key of the index of activities. Activities have no key with this name, so none can have this key. */
  private readonly indexKey: string;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: RedPacketServiceOptions,
    { streams, tasks, registryName = '' }: RedPacketHelpers = {},
  ) {
    const space = registry.keySpace('red-packet');
    this.indexKey = space.tag('activities').key('index');
    this.layouts = new Layouts(space, registry.keySpace('stream-consumer'));
    const transfers = new Transfers(registry);
    this.soldOutUsers = new SoldOutUsers(registry, transfers);
    this.grabber = new Grabber(registry, this.layouts, new Refills(transfers), this.soldOutUsers, options);
    this.lifecycle = new Lifecycle(registry, this.layouts, transfers);
    this.closing = new Closing(this.lifecycle, tasks, options, registryName);
    this.creation = new Creation(registry, this.layouts, this.indexKey, options, this.closing);
    this.grants = new Results(registry);
    this.resultList = new ResultList(this.lifecycle, this.grants, options);
    this.auditor = new Audit(registry, transfers, streams);
  }

  /** Registers the closing task and checks the permissions of the Redis user. @throws MissingPermissionError, InvalidOptionError */
  async onModuleInit(): Promise<void> {
    this.closing.register();
    await requirePermissions(this.registry, this.logger);
  }

  /** Forgets which activities are sold out. */
  onApplicationShutdown(): void {
    this.soldOutUsers.close();
  }

  /**
   * Creates an activity: splits the total into packets, and opens the activity when its pools are complete. Safe to repeat:
   * with the same parameters it resumes an interrupted creation, or finds the activity open.
   * @throws InvalidRedPacketInputError for invalid parameters, for totals that no split can meet, and for a past end
   * @throws ActivityConflictError if the id is used by an activity with other parameters
   * @throws ActivityIncompleteError if the pool was lost during the creation; errors of ScriptRegistry.run()
   */
  async create(input: CreateActivity): Promise<CreatedActivity> {
    return this.creation.create(checkActivity(input));
  }

  /**
   * Grabs a packet for a user, at most one: a repeated grab returns the same packet.
   * @throws InvalidRedPacketInputError for an invalid id; errors of ScriptRegistry.run(), and of `eligibility`
   */
  grab(activityId: string, userId: string): Promise<GrabResult> {
    try {
      checkActivityId(activityId);
      checkUserId(userId);
      const known = this.grabber.knownResult(activityId, userId);
      if (known !== undefined) return Promise.resolve(known);
      // Grabs are the most frequent calls: without eligibility this saves a promise for each.
      return this.options.eligibility === undefined
        ? this.grabber.grab(activityId, userId)
        : this.grabIfEligible(activityId, userId, this.options.eligibility);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Reads the state and the counters of an activity. Returns undefined if there is no such activity. */
  async status(activityId: string): Promise<ActivityStatus | undefined> {
    return this.lifecycle.status(checkActivityId(activityId));
  }

  /** Pauses grabs. Returns the new state; undefined if there is no such activity. Harmless twice. */
  async pause(activityId: string): Promise<ActivityState | undefined> {
    return this.lifecycle.setPaused(checkActivityId(activityId), true);
  }

  /** Resumes grabs. Returns the new state; undefined if there is no such activity. Harmless twice. */
  async resume(activityId: string): Promise<ActivityState | undefined> {
    return this.lifecycle.setPaused(checkActivityId(activityId), false);
  }

  /**
   * Closes an activity for good and refunds the packets that nobody has won. Any number of processes may call it, any number
   * of times: packets are refunded once.
   *
   * If it rejects, some buckets may be closed: call it again. `onClosed` is called soon after it, and at the latest at the
   * activity's end. Returns undefined if there is no such activity. A draft stays a draft.
   */
  async close(activityId: string): Promise<ClosedActivity | undefined> {
    const closed = await this.lifecycle.close(checkActivityId(activityId));
    if (closed?.closed === true) await this.closing.report(activityId);
    return closed;
  }

  /** Reads the packet of a user. Returns undefined if the user has none. */
  async packetOf(activityId: string, userId: string): Promise<Packet | undefined> {
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout && this.grants.packetOf(layout, checkUserId(userId));
  }

  /**
   * Reads a page of the packets of all winners, for one of the winners; `page` as for `records`. Returns undefined for a user
   * without a packet. @throws InvalidRedPacketInputError; errors of ScriptRegistry.run(), and of `participantName`
   */
  async results(
    activityId: string,
    userId: string,
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<ResultsPage | undefined> {
    return this.resultList.page(checkActivityId(activityId), checkUserId(userId), Results.page(page));
  }

  /** Reads the largest packet granted so far, the earliest of equal ones. Returns undefined before the first grant. */
  async luckiest(activityId: string): Promise<GrantRecord | undefined> {
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout && this.grants.luckiest(layout);
  }

  /**
   * Reads a page of grants, in no particular order. A page may have more grants than the limit: Redis returns a small activity
   * as one page. A grant that exists from the first page to the last is listed once or twice. After a failover begin with the
   * first page again.
   * @param page limit from 1 to 1,000, default 100; cursor: the `nextCursor` of the previous page
   * @throws InvalidRedPacketInputError; errors of ScriptRegistry.run()
   */
  async records(
    activityId: string,
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<RecordsPage> {
    const request = Results.page(page);
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout === undefined ? { items: [] } : this.grants.records(layout, request);
  }

  /**
   * Sets the TTL of an activity if nothing is owed: it is closed, or ended with no packets left, and all payouts are settled.
   * Until then its keys have no TTL. `RedPacketPayouts.run` calls it; call it yourself if no process runs payouts. Harmless twice.
   * @returns true if nothing is owed, also if there is no such activity
   */
  async settle(activityId: string): Promise<boolean> {
    const state = await this.lifecycle.settle(checkActivityId(activityId));
    if (state === 'gone')
      await this.registry.run(unlistActivity, { keys: { index: this.indexKey }, args: { activityId } });
    return state !== 'owed';
  }

  /**
   * Sets the TTL of a closed activity also if payouts are not settled: use it if they were paid by other means. Harmless twice.
   * @returns false if the activity is not closed: then nothing changed
   */
  async forget(activityId: string): Promise<boolean> {
    return (await this.lifecycle.settle(checkActivityId(activityId), true)) !== 'owed';
  }

  /** Lists the ids of all activities that Redis may still have, including drafts. */
  activities(): Promise<string[]> {
    return this.registry.run(listActivities, { keys: { index: this.indexKey }, args: {} });
  }

  /** Keys of the streams of payout rows, one for each bucket; empty if there is no such activity. */
  async outboxes(activityId: string): Promise<string[]> {
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout?.buckets.map(({ outbox }) => outbox) ?? [];
  }

  /**
   * Voids a grant that the ledger refused to pay, because it had paid the packet to another user, or another packet to this
   * user. That happens after a failover in which Redis lost grants. In the first case the user gets another packet if any is
   * left. Harmless twice. @throws InvalidRedPacketInputError; errors of ScriptRegistry.run()
   */
  async conflict(activityId: string, { userId, packetId, paid }: PayoutConflict): Promise<VoidedGrant> {
    const layout = (await this.lifecycle.layoutOf(checkActivityId(activityId))) ?? this.layouts.root(activityId);
    const bucket = homeOf(layout, checkUserId(userId));
    const paidBefore = paid === undefined ? undefined : checkPacket(paid);
    const voided = await this.lifecycle.voidGrant(layout, bucket, userId, checkPacketId(packetId), paidBefore);
    if (voided && paidBefore !== undefined) await this.closing.report(activityId);
    // Without the eligibility check: the user passed it before the grant.
    return { voided, now: await this.grabber.grab(activityId, userId) };
  }

  /**
   * Checks that every packet and every cent is in exactly one place. Returns undefined if there is no such activity.
   * One script reads the counters and the pool of a bucket, so the check works at any moment. With `deep` or a ledger it
   * counts all records: pause the activity for that, or see `deep.quiet`.
   */
  async audit(activityId: string, options: AuditOptions = {}): Promise<AuditReport | undefined> {
    const read = await this.lifecycle.read(checkActivityId(activityId));
    return read && this.auditor.run(activityId, read, options);
  }

  private async grabIfEligible(activityId: string, userId: string, eligible: EligibilityCheck): Promise<GrabResult> {
    return (await eligible(activityId, userId)) ? this.grabber.grab(activityId, userId) : NOT_ELIGIBLE;
  }
}
