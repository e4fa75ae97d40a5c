import type { ScriptRegistry } from 'luanest/script-registry';
import { activityKeyOf } from '../activity-key';
import { keysOf, type BucketKeys, type Layout, type Layouts } from '../buckets/layout';
import { isSoldOut } from '../buckets/refills';
import type { Transfers } from '../buckets/transfers';
import { ActivityIncompleteError } from '../red-packet.errors';
import { type BucketReading } from '../buckets/bucket.scripts';
import type { ActivityState, ActivityStatus, ClosedActivity, Packet } from '../red-packet.types';
import { closeBucket, setPause, settleBucket, voidGrant } from './activity.scripts';

/** Rounds in which close finishes transfers. A round finishes all that it sees, and closed buckets begin none. */
const MAX_ROUNDS = 20;

/** An activity's buckets, and a reading of each. */
export interface Read {
  readonly layout: Layout;
  readonly readings: readonly BucketReading[];
}

/** Reads activities and changes their states. */
export class Lifecycle {
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly layouts: Layouts,
    private readonly transfers: Transfers,
  ) {}

  /** Reads every bucket, or only the root of a draft. Returns undefined if there is no such activity. */
  async read(activityId: string): Promise<Read | undefined> {
    const found = await this.find(activityId);
    // The root of a draft does not show yet whether the activity is sharded.
    if (found !== undefined && found.readings[0]?.state !== 'draft') this.layouts.confirm(found.layout);
    return found;
  }

  /** Returns the layout, and reads the root if it was not read within the last two seconds. */
  async layoutOf(activityId: string): Promise<Layout | undefined> {
    return this.layouts.fresh(activityId) ?? (await this.read(activityId))?.layout;
  }

  /** See RedPacketService.status. */
  async status(activityId: string): Promise<ActivityStatus | undefined> {
    const found = await this.read(activityId);
    return found && statusOf(activityId, found.readings);
  }

  /** Pauses or resumes every bucket. Returns the new state; undefined if there is no such activity. */
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
   * @returns `not-ended` if a bucket has not ended; undefined if there is no such activity
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
    // The creation is unfinished: its packets can be refunded after it has opened.
    if (atEnd && statuses.includes('draft')) {
      throw new ActivityIncompleteError(
        `Activity ${JSON.stringify(activityId)} is a draft, which cannot be closed. Create it again to open it.`,
      );
    }
    let readings = await this.transfers.readAll(layout);
    for (let round = 0; round < MAX_ROUNDS && (await this.transfers.finish(layout, readings)) > 0; round++) {
      readings = await this.transfers.readAll(layout);
    }
    if (!isOwing(readings)) await this.forget(layout, false);
    const { refundedPackets, refundedCents } = statusOf(activityId, readings);
    return { activityId, closed: statuses.includes('closed'), refundedPackets, refundedCents };
  }

  /**
   * Sets the TTL of an activity if nothing is owed any more. That state is final.
   *
   * @param giveUp true sets the TTL of a closed activity also if something is owed
   * @returns `gone` if there is no such activity
   */
  async settle(activityId: string, giveUp = false): Promise<'settled' | 'owed' | 'gone'> {
    const found = await this.find(activityId);
    if (found === undefined) {
      // A root that has outlived its buckets: they were settled before it, or are lost.
      await this.forget(this.layouts.root(activityId), false);
      return 'gone';
    }
    const { readings } = found;
    const first = readings[0];
    if (first?.state === 'draft') {
      // Its end has passed, so nobody can complete it. The root of a sharded activity has no TTL yet.
      if (!first.overdue) return 'owed';
      if (first.buckets > 1) await this.forget(this.layouts.build(activityId, first.buckets), true);
      return 'settled';
    }
    if (isOwing(readings) && !(giveUp && readings.every(({ state }) => state === 'closed' || state === '')))
      return 'owed';
    return (await this.forget(found.layout, giveUp)) ? 'settled' : 'owed';
  }

  /** Sets the TTL of each bucket, then of the root. Returns false if something is owed after all. */
  private async forget(layout: Layout, giveUp: boolean): Promise<boolean> {
    const args = { giveUp: giveUp ? 1 : 0 };
    const run = (keys: BucketKeys) => this.registry.run(settleBucket, { keys, args });
    const statuses = await Promise.all(layout.buckets.map(run));
    if (statuses.includes('owed')) return false;
    if (layout.buckets.length > 1) await run(keysOf(this.layouts.root(layout.activityId), 0));
    return true;
  }

  /** Voids a grant. Returns true if it is void, by this call or an earlier one; false if the user has no such grant. */
  async voidGrant(layout: Layout, bucket: number, userId: string, packetId: string, paid?: Packet): Promise<boolean> {
    const { meta, grants, voids, refunds } = keysOf(layout, bucket);
    const paidText = paid === undefined ? '' : `${paid.packetId}:${paid.amountCents}:${paid.grantedAtMs}`;
    const args = { userId, packetId, paid: paidText };
    return (await this.registry.run(voidGrant, { keys: { meta, grants, voids, refunds }, args })) !== 'none';
  }

  private async find(activityId: string): Promise<Read | undefined> {
    const remembered = this.layouts.of(activityId);
    const readings = await this.transfers.readAll(remembered);
    if (readings.every(({ state }) => state !== '' && !state.startsWith('spread:'))) {
      return { layout: remembered, readings };
    }
    // The remembered layout may belong to an earlier activity with this id.
    this.layouts.forget(activityId);
    const layout = this.layouts.root(activityId);
    const [root] = remembered === layout ? readings : await this.transfers.readAll(layout);
    if (root === undefined || root.state === '') return undefined;
    if (!root.state.startsWith('spread:')) return { layout, readings: [root] };
    const spread = this.layouts.remember(activityId, root.buckets);
    const all = await this.transfers.readAll(spread);
    return all.some(({ state }) => state !== '') ? { layout: spread, readings: all } : undefined;
  }
}

/** Sums the readings of all buckets. */
export function statusOf(activityId: string, readings: readonly BucketReading[]): ActivityStatus {
  const sum = (pick: (reading: BucketReading) => number): number =>
    readings.reduce((total, reading) => total + pick(reading), 0);
  // A bucket that is lost has no parameters.
  const first = readings.find(({ state }) => state !== '') ?? readings[0];
  if (first === undefined) throw new RangeError('Internal error: there are no readings of buckets.');
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
    deadLetters: sum(({ deadLetters }) => deadLetters),
    createdAtMs: first.createdAtMs,
    startsAtMs: first.startsAtMs,
    endsAtMs: first.endsAtMs,
    expiresAtMs: first.expiresAtMs,
    overdue: readings.some(({ overdue }) => overdue),
    settled: readings.every(({ state, forgetAtMs }) => forgetAtMs > 0 || state === ''),
  };
}

/**
 * Returns true if a user may still win or be paid, or a packet may still be refunded: then no key may expire. Buckets are read
 * one after another, so packets that move between them count, too.
 */
function isOwing(readings: readonly BucketReading[]): boolean {
  const isOver = ({ state, pooled }: BucketReading): boolean =>
    state === '' || state === 'closed' || (state === 'ended' && pooled === 0);
  const isPaid = ({ outboxLength, deadLetters, outgoing }: BucketReading): boolean =>
    outboxLength + deadLetters + outgoing.length === 0;
  const moving = readings.reduce((sum, { sentPackets, receivedPackets }) => sum + sentPackets - receivedPackets, 0);
  const isLost = readings.some(({ state }) => state === '');
  return !readings.every((reading) => isOver(reading) && isPaid(reading)) || (moving !== 0 && !isLost);
}

const ORDER = ['draft', 'closed', 'paused', 'ended', 'preheated', 'open'] as const;

/** Buckets change their states one after another: the first bucket that has changed determines the state of the activity. */
function stateOf(readings: readonly BucketReading[]): ActivityState {
  const state = ORDER.find((each) => readings.some((reading) => reading.state === each)) ?? 'draft';
  return state === 'open' && isSoldOut(readings) ? 'sold-out' : state;
}
