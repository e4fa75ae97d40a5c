import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { CONSOLE, INSPECT, Steps, type Page } from '../../internal/src';
import { Activities } from './activity/activities';
import { Creation } from './activity/creation';
import type { Lifecycle } from './activity/lifecycle';
import { unreportedOf } from './activity/status';
import { Closing } from './activity/closing';
import { ResultList } from './activity/result-list';
import { Results } from './activity/results';
import { Audit } from './audit/audit';
import type { AuditOptions, AuditResult, RepairResult } from './audit/audit.types';
import type { Layouts } from './buckets/layout';
import { Grabber } from './grabs/grabber';
import { SoldOutUsers } from './grabs/sold-out-users';
import { requirePermissions } from './permissions';
import {
  checkActivity,
  checkActivityId,
  checkActivityKey,
  checkPacket,
  checkPacketId,
  checkUserId,
} from './red-packet.input';
import type { RedPacketHelpers, RedPacketServiceOptions } from './red-packet.options';
import type {
  ActivityState,
  ActivityStatus,
  CloseResult,
  CreateActivity,
  CreateResult,
  GrabResult,
  Grant,
  Packet,
  PayoutConflict,
  ResultsPage,
  ConflictResult,
} from './red-packet.types';

const NOT_ELIGIBLE: GrabResult = Object.freeze({ status: 'not-eligible' });

/** Function of luanest/testing that observes each grab. `result` may reject. */
type GrabWatcher = (activityId: string, userId: string, result: Promise<GrabResult>) => void;

/**
 * Creates activities, lets users win their packets, closes activities and audits them. `RedPacketPayouts` pays the winners. A grant is a
 * packet that a user has won.
 */
export class RedPacketService implements OnModuleInit, OnApplicationShutdown {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'RedPacketService';

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
  private readonly list: Activities['list'];
  private watcher: GrabWatcher | undefined;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: RedPacketServiceOptions,
    { activities = new Activities(registry, options), tasks, registryName = '' }: RedPacketHelpers = {},
  ) {
    const { layouts, lifecycle, list, transfers } = activities;
    [this.layouts, this.lifecycle, this.list] = [layouts, lifecycle, list];
    this.soldOutUsers = new SoldOutUsers(registry, transfers);
    this.grabber = new Grabber(registry, layouts, transfers, this.soldOutUsers, options, (outbox) =>
      activities.outboxes.ring(outbox),
    );
    this.closing = new Closing(this.lifecycle, tasks, options, registryName);
    this.creation = new Creation(registry, layouts, list, options, this.closing);
    this.grants = new Results(registry);
    this.resultList = new ResultList(this.lifecycle, this.grants, options);
    this.auditor = new Audit(registry, transfers, activities.outboxes, options.ledger);
  }

  /**
   * Prepares the service at boot: registers the task that closes activities, and checks the permissions of the Redis user and the number of
   * partitions.
   * @throws SetupError, ScriptRefusedError, InvalidOptionError
   */
  async onModuleInit(): Promise<void> {
    this.closing.register();
    await requirePermissions(this.registry, this.logger);
    await this.list.checkPartitions(this.logger);
  }

  /** Stops reading the winners of sold-out activities. */
  onApplicationShutdown(): void {
    this.soldOutUsers.close();
  }

  /**
   * Creates an activity: splits the total into packets, stores them and opens the activity. You may repeat the call with the same
   * parameters: it then finds the activity, and finishes an interrupted creation, which is possible until the retention ends.
   * @throws InvalidInputError for invalid parameters, and for a new activity whose end has passed by Redis' clock
   * @throws ActivityConflictError if there is an activity with this id and other parameters, or Redis has lost its parameters
   * @throws ActivityIncompleteError if Redis lost packets or parameters during the creation; the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * await packets.create({ activityId: 'new-year', totalCents: 88_800, packets: 100 });
   * const result = await packets.grab('new-year', userId);
   * if (result.status === 'won') await show(result.packet.amountCents);
   * ```
   */
  async create(input: CreateActivity): Promise<CreateResult> {
    return this.creation.create(checkActivity(input));
  }

  /**
   * Grabs a packet for a user. A user wins at most one packet of an activity. Later grabs return the same packet, if Redis still has
   * the grant, `conflict` has not voided the grant, and `eligibility` accepts the user. With the option `replicas`, the result may be
   * `unconfirmed`.
   * @throws InvalidInputError for an invalid id; the errors of ScriptRegistry.run() and of `eligibility`
   */
  grab(activityId: string, userId: string): Promise<GrabResult> {
    const result = this.checkAndGrab(activityId, userId);
    this.watcher?.(activityId, userId, result);
    return result;
  }

  /** Makes later grabs call `watcher`, for `luanest/testing`. */
  [INSPECT](): { readonly watch: (watcher: GrabWatcher) => void } {
    return { watch: (watcher) => (this.watcher = watcher) };
  }

  /** Returns pages of the ids of all activities, for `luanest/console`. The activity whose retention ends last comes first. */
  [CONSOLE](): { readonly page: (limit: number, cursor?: string) => ReturnType<Activities['list']['page']> } {
    return { page: (limit, cursor) => this.list.page(limit, cursor) };
  }

  private checkAndGrab(activityId: string, userId: string): Promise<GrabResult> {
    try {
      checkActivityId(activityId);
      checkUserId(userId);
      const known = this.grabber.knownResult(activityId, userId);
      if (known !== undefined) return Promise.resolve(known);
      // Without `eligibility`, this saves a promise per grab.
      return this.options.eligibility === undefined
        ? this.grabber.grab(activityId, userId)
        : this.grabIfEligible(activityId, userId);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Reads the state and the counters of an activity. Returns undefined if there is no such activity. */
  async status(activityId: string): Promise<ActivityStatus | undefined> {
    return this.lifecycle.status(checkActivityId(activityId));
  }

  /**
   * Pauses grabs. A draft (unfinished activity) and a closed activity stay as they are. Returns the state; undefined if there is no such
   * activity.
   */
  async pause(activityId: string): Promise<ActivityState | undefined> {
    return this.lifecycle.setPaused(checkActivityId(activityId), true);
  }

  /**
   * Resumes grabs. A draft (unfinished activity) and a closed activity stay as they are. Returns the state; undefined if there is no such
   * activity.
   */
  async resume(activityId: string): Promise<ActivityState | undefined> {
    return this.lifecycle.setPaused(checkActivityId(activityId), false);
  }

  /**
   * Closes an activity for good, and refunds the packets that nobody has won. If the call rejects, call `close` again: no packet is
   * refunded twice. Afterwards, the option `onClosed` is called, if it is set. An activity whose creation is unfinished (a draft) is not
   * closed. Returns undefined if there is no such activity.
   */
  async close(activityId: string): Promise<CloseResult | undefined> {
    const steps = new Steps('RedPacketService.close');
    const found = await this.lifecycle.close(checkActivityId(activityId), steps);
    if (found === undefined) return undefined;
    // A process may have died after closing the activity, before this line. Then its refund was not reported to `onClosed` yet.
    if (found.closed.closed || unreportedOf(found.readings) > 0) await steps.read(this.closing.report(activityId));
    return found.closed;
  }

  /** Reads the packet of a user. Returns undefined if the user has none. */
  async packetOf(activityId: string, userId: string): Promise<Packet | undefined> {
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout && this.grants.packetOf(layout, checkUserId(userId));
  }

  /**
   * Reads a page of the packets of all winners, for a user who has won. Returns undefined for a user without a packet.
   * @param page limit and cursor as for `records`
   * @throws InvalidInputError; the errors of ScriptRegistry.run() and of `participantName`
   */
  async results(
    activityId: string,
    userId: string,
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<ResultsPage | undefined> {
    return this.resultList.page(checkActivityId(activityId), checkUserId(userId), Results.page(page));
  }

  /**
   * Reads the largest packet that was won so far. If several packets are equal, it is the packet that was won first. Returns undefined if
   * no packet was won.
   */
  async luckiest(activityId: string): Promise<Grant | undefined> {
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout && this.grants.luckiest(layout);
  }

  /**
   * Reads a page of grants, in no particular order. A page may have more grants than the limit, because Redis returns a small hash as
   * one page. A grant that exists before the first page is read, and still after the last one, is on at least one page, and may be on
   * several. After a failover or a restart of Redis, begin with the first page again.
   * @param page `limit` from 1 to 1,000, default 100; `cursor`: the `nextCursor` of the previous page
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  async records(
    activityId: string,
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<Page<Grant>> {
    const request = Results.page(page);
    const layout = await this.lifecycle.layoutOf(checkActivityId(activityId));
    return layout === undefined ? { items: [] } : this.grants.records(layout, request);
  }

  /**
   * Lets Redis forget an activity that owes nothing, by setting the TTL of its keys. An activity owes nothing if it is closed, or has ended
   * without packets left; if all payouts are paid or dropped; and if `onClosed` has succeeded for all refunds. With `DelayedTaskModule`,
   * this happens by itself. Without it, call `close` after the end, and then this method until it returns true.
   * @returns true if the keys have a TTL, or there is no such activity; false if the activity owes something, and for a draft (an
   *   unfinished creation) until its retention ends
   */
  async settle(activityId: string): Promise<boolean> {
    return (await this.lifecycle.settle(checkActivityId(activityId))) !== 'owed';
  }

  /**
   * Gives up the payouts and refunds that a closed activity owes: deletes its open payouts, and sets the TTL of its keys. Use it if
   * you have paid them by other means. Does not stop handlers that are running. May be repeated.
   * @returns true if the keys have a TTL, or there is no such activity; false for a draft until its retention ends, and for an
   *   activity that owes something and is not closed
   */
  async forget(activityId: string): Promise<boolean> {
    return (await this.lifecycle.settle(checkActivityId(activityId), true)) !== 'owed';
  }

  /**
   * Lists the ids of all activities, including drafts, in the order in which their retention ends. The list may have ids of activities
   * that have expired or were never created. `settle` removes such an id from the list.
   */
  activities(): Promise<string[]> {
    return this.list.all();
  }

  /**
   * Takes a packet away from a user (voids the grant). Use it if your ledger has refused a payout, because it had already paid the packet
   * to another user, or another packet to this user. This happens after Redis has lost grants, for example in a failover. Without `paid`,
   * the user may win another packet, and this call grabs for the user. With `paid`, the packet is refunded, and later grabs return the
   * packet of `paid`. May be repeated.
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  async conflict(activityId: string, { activityKey, userId, packetId, paid }: PayoutConflict): Promise<ConflictResult> {
    const layout = (await this.lifecycle.layoutOf(checkActivityId(activityId))) ?? this.layouts.root(activityId);
    const grant = { userId: checkUserId(userId), packetId: checkPacketId(packetId) };
    const paidBefore = paid === undefined ? undefined : checkPacket(paid);
    const key = activityKey === undefined ? undefined : checkActivityKey(activityKey);
    const steps = new Steps('RedPacketService.conflict');
    const found = await steps.one(this.lifecycle.voidGrant(layout, grant, paidBefore, key));
    if (found === 'gone') return { voided: false, now: { status: 'not-open', reason: 'unknown' } };
    const voided = found === 'void';
    if (voided && paidBefore !== undefined) await steps.read(this.closing.report(activityId));
    // `eligibility` is not called again, because it has accepted the user before.
    return { voided, now: await steps.read(this.grabber.grab(activityId, userId)) };
  }

  /**
   * Checks the counters of each bucket (shard of the activity): packets and cents that are left, granted, refunded, sent and received
   * must add up. You may call it at any time. With `deep` or `ledger`, it also reads all records; pause the activity before such a
   * call. Returns undefined if there is no such activity.
   */
  async audit(activityId: string, options: AuditOptions = {}): Promise<AuditResult | undefined> {
    const read = await this.lifecycle.read(checkActivityId(activityId));
    return read && this.auditor.run(activityId, read, options);
  }

  /**
   * Restores payouts that another program has deleted from Redis. If the winner is not in the ledger, the payout is written again, so that
   * the winner is paid; otherwise the payout counts as paid. This reads all records, so pause the activity before the call, and do not
   * replay or drop payouts meanwhile. Returns undefined if there is no such activity.
   * @param options `ledger`: packets that the ledger has paid. Default: those of the option `ledger` of the module
   * @throws InvalidInputError without a ledger; the errors of the ledger and of ScriptRegistry.run(): then call it again
   */
  async repairPayouts(
    activityId: string,
    { ledger }: Pick<AuditOptions, 'ledger'> = {},
  ): Promise<RepairResult | undefined> {
    const read = await this.lifecycle.read(checkActivityId(activityId));
    return read && this.auditor.repair(activityId, read, ledger);
  }

  private async grabIfEligible(activityId: string, userId: string): Promise<GrabResult> {
    const isEligible = await this.options.eligibility?.(activityId, userId);
    return isEligible ? this.grabber.grab(activityId, userId) : NOT_ELIGIBLE;
  }
}
