import type { ScriptRegistry } from 'luanest/script-registry';
import { Steps } from '../../../internal/src';
import { homeOf, keysOf, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import type { Transfers } from '../buckets/transfers';
import { type BucketReading } from '../buckets/bucket.scripts';
import type { ActivityState, ActivityStatus, CloseResult, Packet } from '../red-packet.types';
import { closeBucket, nextDecision, noteReport, setPause, settleBucket, voidGrant } from './activity.scripts';
import type { ActivityList } from './activity-list';
import { isOwing, statusOf, unreportedOf } from './status';
import type { Outboxes } from '../payouts/outboxes';
import { ownerText } from '../payouts/payout-row';
import type { Ledger } from '../audit/audit.types';
import type { Replicated } from '../replicated';
import { Refunds } from './refunds';

/**
 * Closing an activity finishes transfers of packets between buckets, in at most this many rounds. One round is usually enough, because
 * closed buckets start no transfers. But a transfer to a bucket that Redis has lost can never be finished.
 */
const MAX_ROUNDS = 20;

/** An activity as it was read from Redis: the keys of its buckets (shards), and the values of each bucket. */
export interface Read {
  readonly layout: Layout;
  readonly readings: readonly BucketReading[];
  /** End of the retention, ms since 1970. It distinguishes an activity from a later one with the same id. */
  readonly expiresAtMs: number;
}

// See DECISIONS.md: late-calls-name-their-activity
/** Keys of an activity with its `expiresAtMs`, which distinguishes it from earlier and later activities with the same id. */
type Life = Pick<Read, 'layout' | 'expiresAtMs'>;

/** A closed activity. `closed` has its refund, which was computed from the values in `readings`. */
export interface Closed extends Read {
  readonly closed: CloseResult;
}

interface LifecycleParts {
  readonly layouts: Layouts;
  readonly transfers: Transfers;
  readonly list: Pick<ActivityList, 'retire' | 'keep' | 'compareStored'>;
  readonly outboxes: Pick<Outboxes, 'dropRows'>;
  readonly replicated: Replicated;
}

/** Reads, pauses and closes activities, and sets the TTL of their keys. */
export class Lifecycle {
  private readonly layouts: Layouts;
  private readonly transfers: Transfers;
  private readonly list: LifecycleParts['list'];
  private readonly outboxes: LifecycleParts['outboxes'];
  private readonly replicated: Replicated;
  private readonly refunds: Refunds;

  constructor(
    private readonly registry: ScriptRegistry,
    { layouts, transfers, list, outboxes, replicated }: LifecycleParts,
    { ledger }: { readonly ledger?: Ledger | undefined },
  ) {
    [this.layouts, this.transfers, this.list] = [layouts, transfers, list];
    [this.outboxes, this.replicated] = [outboxes, replicated];
    this.refunds = new Refunds(registry, ledger);
  }

  /**
   * Reads every bucket of an activity. For a draft with several buckets, reads only the root, which has the number of buckets. Returns
   * undefined if there is no such activity.
   */
  async read(activityId: string): Promise<Read | undefined> {
    const found = await this.find(activityId);
    // A draft is read without its buckets. This layout would be wrong after the activity has opened, so it is not remembered.
    if (found !== undefined && found.readings[0]?.state !== 'draft') this.layouts.confirm(found.layout);
    return found;
  }

  /**
   * Returns the keys of an activity's buckets. Reads the buckets, unless this process has done so within the last two seconds. Returns
   * undefined if there is no such activity.
   */
  async layoutOf(activityId: string): Promise<Layout | undefined> {
    return this.layouts.fresh(activityId) ?? (await this.read(activityId))?.layout;
  }

  async status(activityId: string): Promise<ActivityStatus | undefined> {
    const found = await this.read(activityId);
    return found && statusOf(activityId, found.readings);
  }

  /**
   * Pauses or resumes every bucket. A draft and a closed activity stay as they are. Of two calls at the same time, the one that began later
   * wins in all buckets.
   *
   * @returns the new state; undefined if there is no such activity; `draft` if a bucket was still a draft, and so was not changed, even if
   *   the activity has opened meanwhile
   */
  async setPaused(activityId: string, paused: boolean): Promise<ActivityState | undefined> {
    const steps = new Steps(`RedPacketService.${paused ? 'pause' : 'resume'}`);
    const root = keysOf(this.layouts.root(activityId), 0);
    const state = paused ? 'paused' : 'open';
    let numbered: Promise<string> | undefined;
    const done = await this.onBuckets(activityId, steps, async ({ meta }, { buckets }) => {
      if (buckets.length > 1) numbered ??= this.registry.run(nextDecision, { keys: { meta: root.meta }, args: {} });
      const args = { state, decision: (await numbered) ?? '' };
      return (await this.registry.run(setPause, { keys: { meta }, args })).was;
    });
    // A bucket that was still a draft was not paused. The caller must see this, even if the activity has opened meanwhile.
    if (done?.statuses.includes('draft')) return 'draft';
    return done && (await steps.read(this.status(activityId)))?.state;
  }

  async close(activityId: string, steps: Steps): Promise<Closed | undefined> {
    const closed = await this.closeBuckets(activityId, false, steps);
    return closed === 'not-ended' || closed === 'draft' ? undefined : closed;
  }

  /**
   * Closes an activity whose end has passed by Redis' clock.
   *
   * @returns `not-ended` if the end has not passed by the clock of some bucket, which then stays open; `draft` for a draft, which is not
   *   closed; undefined if there is no such activity
   */
  closeAtEnd(activityId: string): Promise<Closed | 'not-ended' | 'draft' | undefined> {
    return this.closeBuckets(
      activityId,
      true,
      new Steps('The task that closes the activity', 'The task is tried again.'),
    );
  }

  private async closeBuckets(
    activityId: string,
    atEnd: boolean,
    steps: Steps,
  ): Promise<Closed | 'not-ended' | 'draft' | undefined> {
    const done = await this.onBuckets(activityId, steps, ({ meta, pool, refunds, grants }) => {
      const input = { keys: { meta, pool, refunds, grants }, args: { atEnd: atEnd ? 1 : 0 } };
      // The app gives refunds back outside Redis. So a failover must not open the bucket again.
      return this.replicated.step('The activity was closed', closeBucket, input, (status) =>
        status.startsWith('closed'),
      );
    });
    if (done === undefined) return undefined;
    const { layout, statuses, expiresAtMs } = done;
    if (statuses.includes('not-ended')) return 'not-ended';
    // A draft may still open, so its packets cannot be refunded yet. The closing task tries again later.
    if (atEnd && statuses.includes('draft')) return 'draft';
    let readings = await steps.read(this.finishTransfers(layout));
    if ((await steps.read(this.refunds.compare(layout, readings))) > 0) readings = await this.transfers.readAll(layout);
    if (!isOwing(readings)) await this.forget({ layout, expiresAtMs }, false, steps);
    const { refundedPackets, refundedCents } = statusOf(activityId, readings);
    const closed = { activityId, closed: statuses.includes('closed'), refundedPackets, refundedCents };
    return { layout, readings, expiresAtMs, closed };
  }

  /** Runs a script on each bucket, and returns the resulting states; undefined if there is no such activity. */
  private async onBuckets<State extends string>(
    activityId: string,
    steps: Steps,
    run: (bucket: BucketKeys, layout: Layout) => Promise<State>,
  ): Promise<(Life & { readonly statuses: readonly State[] }) | undefined> {
    for (;;) {
      const found = await steps.read(this.read(activityId));
      if (found === undefined) return undefined;
      const { layout, expiresAtMs } = found;
      const statuses = await steps.all(layout.buckets.map((keys) => run(keys, layout)));
      // A draft was read without its buckets. If it has opened meanwhile, the script has only found the root, and changed nothing. The loop
      // then runs again with all buckets.
      if (!statuses.some((status) => status.startsWith('spread:'))) return { layout, expiresAtMs, statuses };
    }
  }

  private async finishTransfers(layout: Layout): Promise<BucketReading[]> {
    let readings = await this.transfers.readAll(layout);
    for (let round = 0; round < MAX_ROUNDS && (await this.transfers.finish(layout, readings)) > 0; round++) {
      readings = await this.transfers.readAll(layout);
    }
    return readings;
  }

  /**
   * Notes that `onClosed` has succeeded for these refunds. If the activity owes nothing else, sets the TTL of its keys. Does nothing if all
   * of these refunds were noted before.
   */
  async noteReport({ layout, readings, expiresAtMs }: Closed): Promise<void> {
    if (unreportedOf(readings) === 0) return;
    const noted = layout.buckets.map(({ meta }, bucket) => {
      const args = { packets: readings[bucket]?.refundedPackets ?? 0, expiresAtMs };
      return this.registry.run(noteReport, { keys: { meta }, args });
    });
    await Promise.all(noted);
    await this.settle(layout.activityId);
  }

  /**
   * Sets the TTL of an activity's keys if it owes nothing: no user can win any more, all payouts are settled, and all refunds are reported.
   * The TTL is never removed again.
   *
   * @param giveUp true: also sets the TTL of a closed activity that owes something. Default false
   * @returns `settled` if this call or an earlier one has set the TTL, and for a draft whose retention is over; `gone` if there is no such
   *   activity; otherwise `owed`
   */
  async settle(activityId: string, giveUp = false): Promise<'settled' | 'owed' | 'gone'> {
    const found = await this.look(activityId);
    const steps = new Steps(`RedPacketService.${giveUp ? 'forget' : 'settle'}`);
    if (found === undefined || isLost(found)) {
      await steps.read(this.list.compareStored());
      // The root of an activity with several buckets may outlive its buckets, so the TTL of the root is set here.
      const root = { layout: this.layouts.root(activityId), expiresAtMs: found?.expiresAtMs ?? 0 };
      if (found === undefined) await steps.read(this.list.retire(activityId, false));
      else await this.forget(root, false, steps);
      return 'gone';
    }
    const { readings, expiresAtMs } = found;
    const first = readings[0];
    if (first?.state === 'draft') {
      // Nobody has won a packet of a draft, so its keys may expire after the retention. The root has no TTL yet, nor have buckets that were
      // opened before it.
      if (!first.overdue) return 'owed';
      const layout = this.layouts.build(activityId, first.buckets);
      if (first.buckets > 1) await this.forget({ layout, expiresAtMs }, true, steps);
      await steps.read(this.list.retire(activityId, true));
      return 'settled';
    }
    if (isOwing(readings) && !(giveUp && readings.every(({ state }) => state === 'closed' || state === ''))) {
      // A late call for an earlier activity with this id may have noted that the id leaves the list. `keep` deletes this note.
      if (readings.some(({ overdue }) => overdue)) await steps.read(this.list.keep(activityId));
      return 'owed';
    }
    // A payout that is given up must not be paid later, so its row is deleted. Rows are searched even if no counter shows an open payout,
    // because a bucket that Redis has lost has no counters.
    if (giveUp) await steps.one(this.outboxes.dropRows(found));
    return (await this.forget(found, giveUp, steps)) ? 'settled' : 'owed';
  }

  /**
   * Sets the TTL of the keys of each bucket, and then of the root. Buckets that owe something, or belong to a later activity with this id,
   * get none. If there is such a bucket, the root gets no TTL either, and this returns false.
   */
  private async forget({ layout, expiresAtMs }: Life, giveUp: boolean, steps: Steps): Promise<boolean> {
    const args = { giveUp: giveUp ? 1 : 0, expiresAtMs };
    const run = (keys: BucketKeys) => this.registry.run(settleBucket, { keys, args });
    const statuses = await steps.all(layout.buckets.map(run));
    if (statuses.includes('owed')) return false;
    if (layout.buckets.length > 1) await steps.one(run(keysOf(this.layouts.root(layout.activityId), 0)));
    await steps.read(this.list.retire(layout.activityId, true));
    return true;
  }

  /**
   * Takes a packet away from a user, because the ledger refused to pay it (voids the grant).
   *
   * @param grant the packet, and the user who has it
   * @param paid the packet that the user has instead, because the ledger had paid it; undefined if the ledger had paid `packetId` to
   *   another user
   * @param activityKey key of the activity of the grant; undefined for the activity that has the id now
   * @returns `void` if this call or an earlier one has voided the grant; `none` if the user has no such grant; `gone` if Redis no longer
   *   has the activity of `activityKey`
   */
  async voidGrant(
    layout: Layout,
    { userId, packetId }: { readonly userId: string; readonly packetId: string },
    paid?: Packet,
    activityKey?: string,
  ): Promise<'void' | 'none' | 'gone'> {
    const bucket = homeOf(layout, userId);
    const { meta, grants, voids, refunds } = keysOf(layout, bucket);
    const owner = activityKey === undefined ? '' : ownerText(activityKey, layout.buckets.length, bucket);
    const paidText = paid === undefined ? '' : `${paid.packetId}:${paid.amountCents}:${paid.grantedAtMs}`;
    const args = { userId, packetId, paid: paidText, owner };
    const status = await this.registry.run(voidGrant, { keys: { meta, grants, voids, refunds }, args });
    return status === 'void-before' ? 'void' : status;
  }

  private async find(activityId: string): Promise<Read | undefined> {
    const seen = await this.look(activityId);
    return seen === undefined || isLost(seen) ? undefined : seen;
  }

  /** Does the same as `find`, but also finds an activity if Redis has lost all of its buckets, but not its root. */
  private async look(activityId: string): Promise<Read | undefined> {
    const remembered = this.layouts.of(activityId);
    const readings = await this.transfers.readAll(remembered);
    if (readings.every(({ state }) => state !== '' && !state.startsWith('spread:'))) {
      return readOf(remembered, readings);
    }
    // The remembered number of buckets may be that of an earlier activity with this id. The root hash has the right number.
    this.layouts.forget(activityId);
    const layout = this.layouts.root(activityId);
    const [root] = remembered === layout ? readings : await this.transfers.readAll(layout);
    if (root === undefined || root.state === '') return undefined;
    if (!root.state.startsWith('spread:')) return readOf(layout, [root]);
    const spread = this.layouts.remember(activityId, root.buckets);
    const all = await this.transfers.readAll(spread);
    if (all.some(({ state }) => state === '')) await this.list.compareStored();
    return { layout: spread, readings: all, expiresAtMs: root.expiresAtMs };
  }
}

function readOf(layout: Layout, readings: readonly BucketReading[]): Read {
  return { layout, readings, expiresAtMs: Math.max(...readings.map((reading) => reading.expiresAtMs)) };
}

function isLost({ readings }: Read): boolean {
  return readings.every(({ state }) => state === '');
}
