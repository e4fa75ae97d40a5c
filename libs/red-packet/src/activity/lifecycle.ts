import type { ScriptRegistry } from 'luanest/script-registry';
import { activityKeyOf } from '../activity-key';
import { keysOf, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import { isSoldOut } from '../buckets/refills';
import type { Transfers } from '../buckets/transfers';
import { ActivityIncompleteError } from '../red-packet.errors';
import { type BucketReading } from '../buckets/bucket.scripts';
import type { ActivityState, ActivityStatus, ClosedActivity, Packet } from '../red-packet.types';
import { closeBucket, setPause, settleBucket, voidGrant } from './activity.scripts';

/** Rounds of ending transfers at close; each ends all that there are, and closed buckets begin none. */
const MOST_ROUNDS = 20;

/** An activity's buckets and what each of them said. */
export interface Read {
  readonly layout: Layout;
  readonly readings: readonly BucketReading[];
}

/** Reads an activity as a whole and takes it from state to state. */
export class Lifecycle {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
    private readonly transfers: Transfers,
  ) {}

  /** Every bucket's reading, or the root's alone while the activity is a draft. Undefined where there is none. */
  async read(activityId: string): Promise<Read | undefined> {
    const found = await this.look(activityId);
    // A draft may turn out to be spread.
    if (found !== undefined && found.readings[0]?.state !== 'draft') this.layouts.confirm(found.layout);
    return found;
  }

  /** The layout, from the root where nobody has lately read it. */
  async layoutOf(activityId: string): Promise<Layout | undefined> {
    return this.layouts.fresh(activityId) ?? (await this.read(activityId))?.layout;
  }

  /** See RedPacketService.status. */
  async status(activityId: string): Promise<ActivityStatus | undefined> {
    const found = await this.read(activityId);
    return found && statusOf(activityId, found.readings);
  }

  /** Pauses or goes on in every bucket. Answers the state after it; undefined where there is no such activity. */
  async setPaused(activityId: string, paused: boolean): Promise<ActivityState | undefined> {
    const layout = (await this.read(activityId))?.layout;
    if (layout === undefined) return undefined;
    const args = { state: paused ? 'paused' : 'open' };
    await Promise.all(layout.buckets.map(({ meta }) => this.registry.run(setPause, { keys: { meta }, args })));
    return (await this.status(activityId))?.state;
  }

  /** See RedPacketService.close. */
  async close(activityId: string): Promise<ClosedActivity | undefined> {
    const closed = await this.closeBuckets(activityId, false);
    return closed === 'not-ended' ? undefined : closed;
  }

  /**
   * Closes an activity that has ended by the clock of each bucket.
   *
   * @returns `not-ended` when it has not; undefined where there is no such activity
   * @throws ActivityIncompleteError for a draft
   */
  closeAtEnd(activityId: string): Promise<ClosedActivity | 'not-ended' | undefined> {
    return this.closeBuckets(activityId, true);
  }

  private async closeBuckets(activityId: string, atEnd: boolean): Promise<ClosedActivity | 'not-ended' | undefined> {
    const layout = (await this.read(activityId))?.layout;
    if (layout === undefined) return undefined;
    const statuses = await Promise.all(
      layout.buckets.map(({ meta, pool, refunds, grants }) =>
        this.registry.run(closeBucket, { keys: { meta, pool, refunds, grants }, args: { atEnd: atEnd ? 1 : 0 } }),
      ),
    );
    if (statuses.includes('not-ended')) return 'not-ended';
    // Its pool is being filled, or will be: what it holds can be refunded when it is open.
    if (atEnd && statuses.includes('draft')) {
      throw new ActivityIncompleteError(
        `Activity ${JSON.stringify(activityId)} is a draft still, which cannot be closed.`,
      );
    }
    let readings = await this.transfers.readAll(layout);
    for (let round = 0; round < MOST_ROUNDS && (await this.transfers.finish(layout, readings)) > 0; round++) {
      readings = await this.transfers.readAll(layout);
    }
    if (!isOwing(readings)) await this.forget(layout, false);
    const { refundedPackets, refundedCents } = statusOf(activityId, readings);
    return { activityId, closed: statuses.includes('closed'), refundedPackets, refundedCents };
  }

  /**
   * Has Redis forget an activity when its retention is over, if nothing is owed any more: once it is so, it stays so.
   *
   * @param giveUp whether to do so whatever is owed, unless somebody may still grab
   * @returns `gone` where there is none
   */
  async settle(activityId: string, giveUp = false): Promise<'settled' | 'owed' | 'gone'> {
    const found = await this.look(activityId);
    if (found === undefined) {
      // Where a root has outlived its buckets, they were settled before it or are lost.
      await this.forget(this.layouts.root(activityId), false);
      return 'gone';
    }
    const { readings } = found;
    const first = readings[0];
    if (first?.state === 'draft') {
      // Nobody came back to complete it, and nobody can: its end has passed. The root of several has no TTL.
      if (!first.overdue) return 'owed';
      if (first.buckets > 1) await this.forget(this.layouts.build(activityId, first.buckets), true);
      return 'settled';
    }
    if (isOwing(readings) && !(giveUp && readings.every(({ state }) => state === 'closed' || state === '')))
      return 'owed';
    return (await this.forget(found.layout, giveUp)) ? 'settled' : 'owed';
  }

  /** Gives each bucket its TTL, and then the root. Returns false where something is owed after all. */
  private async forget(layout: Layout, giveUp: boolean): Promise<boolean> {
    const args = { giveUp: giveUp ? 1 : 0 };
    const run = (keys: BucketKeys) => this.registry.run(settleBucket, { keys, args });
    const statuses = await Promise.all(layout.buckets.map(run));
    if (statuses.includes('owed')) return false;
    if (layout.buckets.length > 1) await run(keysOf(this.layouts.root(layout.activityId), 0));
    return true;
  }

  /** Takes a grant back. Answers whether the user has it no more. */
  async voidGrant(layout: Layout, bucket: number, userId: string, packetId: string, paid?: Packet): Promise<boolean> {
    const { meta, grants, voids, refunds } = keysOf(layout, bucket);
    const told = paid === undefined ? '' : `${paid.packetId}:${paid.amountCents}:${paid.grantedAtMs}`;
    const args = { userId, packetId, paid: told };
    return (await this.registry.run(voidGrant, { keys: { meta, grants, voids, refunds }, args })) !== 'none';
  }

  private async look(activityId: string): Promise<Read | undefined> {
    const learned = this.layouts.of(activityId);
    const readings = await this.transfers.readAll(learned);
    if (readings.every(({ state }) => state !== '' && !state.startsWith('spread:'))) {
      return { layout: learned, readings };
    }
    // What was learned of this id may be of an activity that is gone.
    this.layouts.forget(activityId);
    const layout = this.layouts.root(activityId);
    const [root] = learned === layout ? readings : await this.transfers.readAll(layout);
    if (root === undefined || root.state === '') return undefined;
    if (!root.state.startsWith('spread:')) return { layout, readings: [root] };
    const spread = this.layouts.learn(activityId, root.buckets);
    const all = await this.transfers.readAll(spread);
    return all.some(({ state }) => state !== '') ? { layout: spread, readings: all } : undefined;
  }
}

/** What buckets say together. */
export function statusOf(activityId: string, readings: readonly BucketReading[]): ActivityStatus {
  const sum = (pick: (reading: BucketReading) => number): number =>
    readings.reduce((total, reading) => total + pick(reading), 0);
  // One that is gone says nothing.
  const first = readings.find(({ state }) => state !== '') ?? readings[0];
  if (first === undefined) throw new RangeError('An activity has one bucket or more.');
  const draft = first.state === 'draft';
  const movingPackets = sum(({ sentPackets, receivedPackets }) => sentPackets - receivedPackets);
  const movingCents = sum(({ sentCents, receivedCents }) => sentCents - receivedCents);
  const left = sum(({ heldCents, grantedCents, refundedCents }) => heldCents - grantedCents - refundedCents);
  return {
    activityId,
    activityKey: activityKeyOf(activityId, first.expiresAtMs),
    state: stateOf(readings),
    totalCents: sum(({ totalCents }) => totalCents),
    packets: first.allPackets,
    buckets: first.buckets,
    remainingPackets: draft ? first.allPackets : sum(({ pooled }) => pooled) + movingPackets,
    remainingCents: left + movingCents,
    grantedPackets: sum(({ granted }) => granted),
    grantedCents: sum(({ grantedCents }) => grantedCents),
    refundedPackets: sum(({ refundedPackets }) => refundedPackets),
    refundedCents: sum(({ refundedCents }) => refundedCents),
    movingPackets,
    movingCents,
    outboxLength: sum(({ outboxLength }) => outboxLength),
    deadPayouts: sum(({ dead }) => dead),
    createdAtMs: first.createdAtMs,
    startsAtMs: first.startsAtMs,
    endsAtMs: first.endsAtMs,
    expiresAtMs: first.expiresAtMs,
    overdue: readings.some(({ overdue }) => overdue),
    settled: readings.every(({ state, forgetAtMs }) => forgetAtMs > 0 || state === ''),
  };
}

/**
 * Whether somebody may still win, be paid or get a refund: then no key may expire. Buckets are read one after another, so
 * packets on their way count, too.
 */
function isOwing(readings: readonly BucketReading[]): boolean {
  const isOver = ({ state, pooled }: BucketReading): boolean =>
    state === '' || state === 'closed' || (state === 'ended' && pooled === 0);
  const isPaid = ({ outboxLength, dead, outgoing }: BucketReading): boolean =>
    outboxLength + dead + outgoing.length === 0;
  const moving = readings.reduce((sum, { sentPackets, receivedPackets }) => sum + sentPackets - receivedPackets, 0);
  const isLost = readings.some(({ state }) => state === '');
  return !readings.every((reading) => isOver(reading) && isPaid(reading)) || (moving !== 0 && !isLost);
}

const ORDER = ['draft', 'closed', 'paused', 'ended', 'preheated', 'open'] as const;

/** Buckets change their states one after another; a change counts from the first one on. */
function stateOf(readings: readonly BucketReading[]): ActivityState {
  const state = ORDER.find((each) => readings.some((reading) => reading.state === each)) ?? 'draft';
  return state === 'open' && isSoldOut(readings) ? 'sold-out' : state;
}
