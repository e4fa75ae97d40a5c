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
import { Losers } from './grabs/sold-out-users';
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

const NOT_ELIGIBLE: GrabResult = Object.freeze({ code: '-5', outcome: 'not-eligible', reason: 'not-eligible' });

/** Services of other libs that red packets use where the app has them. */
export interface RedPacketHelpers {
  /** Its dead letters are counted by a deep audit. */
  readonly streams?: StreamConsumerService | undefined;
  /** Closes activities at their ends. */
  readonly tasks?: DelayedTaskService | undefined;
  /** Name of the ScriptRegistry; '' for the default one. */
  readonly registryName?: string;
}

/** Red packets: a total split into packets, each handed to one user, with a payout row for every one. */
export class RedPacketService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(RedPacketService.name);
  private readonly layouts: Layouts;
  private readonly losers: Losers;
  private readonly grabber: Grabber;
  private readonly creation: Creation;
  private readonly lifecycle: Lifecycle;
  private readonly closing: Closing;
  private readonly grants: Results;
  private readonly resultList: ResultList;
  private readonly auditor: Audit;
  /** A tag of its own, which no activity's id can equal: those carry no name like this one. */
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
    this.losers = new Losers(registry, transfers);
    this.grabber = new Grabber(registry, this.layouts, new Refills(transfers), this.losers, options);
    this.lifecycle = new Lifecycle(registry, this.layouts, transfers);
    this.closing = new Closing(this.lifecycle, tasks, options, registryName);
    this.creation = new Creation(registry, this.layouts, this.indexKey, options, this.closing);
    this.grants = new Results(registry);
    this.resultList = new ResultList(this.lifecycle, this.grants, options);
    this.auditor = new Audit(registry, transfers, streams);
  }

  /** Checks that the Redis user may run every command of the scripts. @throws MissingPermissionError naming those it may not */
  async onModuleInit(): Promise<void> {
    this.closing.register();
    await requirePermissions(this.registry, this.logger);
  }

  /** Forgets who has lost what. */
  onApplicationShutdown(): void {
    this.losers.close();
  }

  /**
   * Splits a total into packets and opens the activity when its pools are complete.
   *
   * Safe to repeat: the same figures resume a creation that was cut off, or find the activity open.
   *
   * @throws InvalidRedPacketInputError for figures that no split can meet, and an end that is over by Redis' clock
   * @throws ActivityConflictError when the id is taken by other figures
   */
  async create(input: CreateActivity): Promise<CreatedActivity> {
    return this.creation.create(checkActivity(input));
  }

  /**
   * Hands the user a packet, once: a repeat answers the same packet. @throws InvalidRedPacketInputError for an invalid id
   */
  grab(activityId: string, userId: string): Promise<GrabResult> {
    try {
      checkActivityId(activityId);
      checkUserId(userId);
      const known = this.grabber.known(activityId, userId);
      if (known !== undefined) return Promise.resolve(known);
      // Grabs are what there are most of, and a promise less a grab shows.
      return this.options.eligibility === undefined
        ? this.grabber.grab(activityId, userId)
        : this.grabIfEligible(activityId, userId, this.options.eligibility);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Where the activity stands; undefined when Redis holds none of this id. */
  async status(activityId: string): Promise<ActivityStatus | undefined> {
    return this.lifecycle.status(checkActivityId(activityId));
  }

  /** Refuses grabs until `resume`. Answers the state after it; undefined when there is no such activity. Harmless twice. */
  async pause(activityId: string): Promise<ActivityState | undefined> {
    return this.lifecycle.setPaused(checkActivityId(activityId), true);
  }

  /** Takes grabs again. Answers the state after it; undefined when there is no such activity. Harmless twice. */
  async resume(activityId: string): Promise<ActivityState | undefined> {
    return this.lifecycle.setPaused(checkActivityId(activityId), false);
  }

  /**
   * Closes the activity for good and refunds what nobody has: once, however often and by however many this is called.
   *
   * When it rejects, a part may be closed; calling it again does the rest. `onClosed` is called soon after it, and at the
   * latest at the activity's end. Undefined when there is no such activity; a draft stays one.
   */
  async close(activityId: string): Promise<ClosedActivity | undefined> {
    const closed = await this.lifecycle.close(checkActivityId(activityId));
    if (closed?.closed === true) await this.closing.report(activityId);
    return closed;
  }

  /** The user's packet; undefined for none. */
  async packetOf(activityId: string, userId: string): Promise<Packet | undefined> {
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout && this.grants.packetOf(layout, checkUserId(userId));
  }

  /** A page of what winners got, for one of them; undefined for a user without a packet. Takes a page as `records` does. */
  async results(
    activityId: string,
    userId: string,
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<ResultsPage | undefined> {
    return this.resultList.page(checkActivityId(activityId), checkUserId(userId), Results.page(page));
  }

  /** The largest packet granted so far, the earliest of equal ones; undefined before the first grant. */
  async luckiest(activityId: string): Promise<GrantRecord | undefined> {
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout && this.grants.luckiest(layout);
  }

  /**
   * Returns a page of grants, in no particular order; a small activity may come as one page, whatever the limit. A grant
   * that is there from the first page to the last is listed once or twice. After a failover begin with the first page again.
   * @param page limit 1 to 1,000, default 100; the `nextCursor` of the page before
   * @throws InvalidRedPacketInputError
   */
  async records(
    activityId: string,
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<RecordsPage> {
    const asked = Results.page(page);
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout === undefined ? { items: [] } : this.grants.records(layout, asked);
  }

  /**
   * Lets Redis forget the activity at `expiresAtMs` if nothing is owed any more: it is closed, or ended with nothing left,
   * and all payouts are settled. Until then its keys have no TTL. `RedPacketPayouts.run` calls it; call it yourself where
   * no process pays. Harmless twice.
   *
   * @returns whether nothing is owed, also when there is no such activity
   */
  async settle(activityId: string): Promise<boolean> {
    const state = await this.lifecycle.settle(checkActivityId(activityId));
    if (state === 'gone')
      await this.registry.run(unlistActivity, { keys: { index: this.indexKey }, args: { activityId } });
    return state !== 'owed';
  }

  /**
   * Lets Redis forget a closed activity at `expiresAtMs` whatever is owed: for payouts that were made by other means.
   * Harmless twice.
   *
   * @returns false where nothing changed, since the activity is not closed
   */
  async forget(activityId: string): Promise<boolean> {
    return (await this.lifecycle.settle(checkActivityId(activityId), true)) !== 'owed';
  }

  /** Ids of the activities that Redis may still hold, drafts too. */
  activities(): Promise<string[]> {
    return this.registry.run(listActivities, { keys: { index: this.indexKey }, args: {} });
  }

  /** Streams that grabs write payout rows to, one a bucket; empty when there is no such activity. */
  async outboxes(activityId: string): Promise<string[]> {
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout?.buckets.map(({ outbox }) => outbox) ?? [];
  }

  /**
   * Voids a grant that the ledger would not pay: it had paid the packet to another user, or this user another packet, which
   * Redis has forgotten since, as in a failover. In the first case the user gets another packet while there are any.
   * Harmless twice.
   */
  async conflict(activityId: string, { userId, packetId, paid }: PayoutConflict): Promise<VoidedGrant> {
    const layout = (await this.lifecycle.layoutOf(checkActivityId(activityId))) ?? this.layouts.root(activityId);
    const bucket = homeOf(layout, checkUserId(userId));
    const told = paid === undefined ? undefined : checkPacket(paid);
    const voided = await this.lifecycle.voidGrant(layout, bucket, userId, checkPacketId(packetId), told);
    if (voided && told !== undefined) await this.closing.report(activityId);
    // Not through the eligibility check: he had passed it.
    return { voided, now: await this.grabber.grab(activityId, userId) };
  }

  /**
   * Checks that every packet and every cent is in one place; undefined when there is no such activity.
   *
   * Each bucket's counters and pool are read by one script, so this holds at any moment. With `deep` or a ledger all
   * records are counted; pause the activity for that, or see `deep.quiet`.
   */
  async audit(activityId: string, options: AuditOptions = {}): Promise<AuditReport | undefined> {
    const read = await this.lifecycle.read(checkActivityId(activityId));
    return read && this.auditor.run(activityId, read, options);
  }

  private async grabIfEligible(activityId: string, userId: string, eligible: EligibilityCheck): Promise<GrabResult> {
    return (await eligible(activityId, userId)) ? this.grabber.grab(activityId, userId) : NOT_ELIGIBLE;
  }
}
