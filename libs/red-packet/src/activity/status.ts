import { activityKeyOf } from '../activity-key';
import type { BucketReading } from '../buckets/bucket.scripts';
import { isSoldOut } from '../buckets/refills';
import type { ActivityState, ActivityStatus } from '../red-packet.types';

/** Adds up the readings of all buckets. @param readings one reading for each bucket; not empty */
export function statusOf(activityId: string, readings: readonly BucketReading[]): ActivityStatus {
  const sum = (pick: (reading: BucketReading) => number): number =>
    readings.reduce((total, reading) => total + pick(reading), 0);
  // A bucket that Redis has lost has no parameters, so they are read from another one.
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
    openPayouts: sum(({ openPayouts }) => openPayouts),
    deadLetters: sum(({ deadLetters }) => deadLetters),
    unreportedPackets: unreportedOf(readings),
    createdAtMs: first.createdAtMs,
    startsAtMs: first.startsAtMs,
    endsAtMs: first.endsAtMs,
    expiresAtMs: first.expiresAtMs,
    overdue: readings.some(({ overdue }) => overdue),
    settled: readings.every(({ state, forgetAtMs }) => forgetAtMs > 0 || state === ''),
  };
}

/** Counts the refunded packets for which `onClosed` has not resolved yet; 0 if the activity was created without `onClosed`. */
export function unreportedOf(readings: readonly BucketReading[]): number {
  return readings.reduce((total, { unreported }) => total + unreported, 0);
}

/**
 * Returns true if an activity owes something, so that its keys must not expire: a user may still win or must be paid, or a
 * packet must be refunded or its refund reported. Packets that move between buckets count too, because they are in no pool. If a
 * bucket is lost, only the transfers that the others have not confirmed count.
 */
export function isOwing(readings: readonly BucketReading[]): boolean {
  const isOver = ({ state, pooled }: BucketReading): boolean =>
    state === '' || state === 'closed' || (state === 'ended' && pooled === 0);
  // If Redis has lost grants, the number of open payouts may be negative.
  const isPaid = ({ openPayouts, deadLetters, outgoing }: BucketReading): boolean =>
    openPayouts === 0 && deadLetters === 0 && outgoing.length === 0;
  const moving = readings.reduce((sum, { sentPackets, receivedPackets }) => sum + sentPackets - receivedPackets, 0);
  const isLost = readings.some(({ state }) => state === '');
  if (unreportedOf(readings) > 0) return true;
  return !readings.every((reading) => isOver(reading) && isPaid(reading)) || (moving !== 0 && !isLost);
}

/**
 * States of buckets. The state of an activity is the first state in this list that one of its buckets has. So an activity is
 * closed as soon as one bucket is closed. An open activity without packets left is `sold-out`.
 */
const ORDER = ['draft', 'closed', 'paused', 'ended', 'preheated', 'open'] as const;

function stateOf(readings: readonly BucketReading[]): ActivityState {
  const state = ORDER.find((each) => readings.some((reading) => reading.state === each)) ?? 'draft';
  return state === 'open' && isSoldOut(readings) ? 'sold-out' : state;
}
