import type { ScriptRegistry } from 'luanest/script-registry';
import { keysOf, type Layout, type Layouts } from '../buckets/layout';
import { isSoldOut } from '../buckets/refills';
import type { Transfers } from '../buckets/transfers';
import { ActivityIncompleteError, ActivityNotEndedError } from '../red-packet.errors';
import { type BucketReading } from '../buckets/bucket.scripts';
import type { ActivityState, ActivityStatus, ClosedActivity, Packet } from '../red-packet.types';
import { closeBucket, setPause, voidGrant } from './activity.scripts';

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

  /**
   * See RedPacketService.close.
   *
   * @param atEnd whether its end must have come, by the clock of each bucket
   * @throws ActivityNotEndedError when it has not, ActivityIncompleteError for a draft
   */
  async close(activityId: string, atEnd = false): Promise<ClosedActivity | undefined> {
    const layout = (await this.read(activityId))?.layout;
    if (layout === undefined) return undefined;
    const statuses = await Promise.all(
      layout.buckets.map(({ meta, pool, refunds, grants }) =>
        this.registry.run(closeBucket, { keys: { meta, pool, refunds, grants }, args: { atEnd: atEnd ? 1 : 0 } }),
      ),
    );
    if (statuses.includes('not-ended')) {
      throw new ActivityNotEndedError(
        `Activity ${JSON.stringify(activityId)} has not ended by the clock of its Redis.`,
      );
    }
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
    const { refundedPackets, refundedCents } = statusOf(activityId, readings);
    return { activityId, closed: statuses.includes('closed'), refundedPackets, refundedCents };
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
    createdAtMs: first.createdAtMs,
    startsAtMs: first.startsAtMs,
    endsAtMs: first.endsAtMs,
    expiresAtMs: first.expiresAtMs,
  };
}

const ORDER = ['draft', 'closed', 'paused', 'ended', 'preheated', 'open'] as const;

/** Buckets change their states one after another; a change counts from the first one on. */
function stateOf(readings: readonly BucketReading[]): ActivityState {
  const state = ORDER.find((each) => readings.some((reading) => reading.state === each)) ?? 'draft';
  return state === 'open' && isSoldOut(readings) ? 'sold-out' : state;
}
