import { activityKeyOf } from '../activity-key';
import type { BucketReading } from '../buckets/bucket.scripts';
import { isSoldOut } from '../buckets/refills';
import type { ActivityState, ActivityStatus } from '../red-packet.types';

/** Computes the status of an activity from the values of all its buckets. @param readings values of each bucket; not empty */
export function statusOf(activityId: string, readings: readonly BucketReading[]): ActivityStatus {
  const sum = (pick: (reading: BucketReading) => number): number =>
    readings.reduce((total, reading) => total + pick(reading), 0);
  // A bucket that Redis has lost has no parameters. All other buckets have the same parameters.
  const first = readings.find(({ state }) => state !== '') ?? readings[0];
  if (first === undefined)
    throw new RangeError(
      'RedPacketService: The state of the activity has no buckets. This is a bug in luanest. Please report it.',
    );
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

/** Counts the refunded packets that were not reported to `onClosed` yet; 0 if the activity was created without `onClosed`. */
export function unreportedOf(readings: readonly BucketReading[]): number {
  return readings.reduce((total, { unreported }) => total + unreported, 0);
}

/**
 * Returns true if an activity owes something, so that its keys must not expire: a user may still win, a winner must be paid, a packet must
 * be refunded, or a refund must be reported. Packets on the way between buckets count, too. If Redis has lost a bucket, only unfinished
 * transfers of the other buckets are known.
 */
export function isOwing(readings: readonly BucketReading[]): boolean {
  const isOver = ({ state, pooled }: BucketReading): boolean =>
    state === '' || state === 'closed' || (state === 'ended' && pooled === 0);
  // A negative number of open payouts means that Redis has lost grants, so the activity is not finished. `<= 0` would hide this.
  const isPaid = ({ openPayouts, deadLetters, outgoing }: BucketReading): boolean =>
    openPayouts === 0 && deadLetters === 0 && outgoing.length === 0;
  const moving = readings.reduce((sum, { sentPackets, receivedPackets }) => sum + sentPackets - receivedPackets, 0);
  const isLost = readings.some(({ state }) => state === '');
  if (unreportedOf(readings) > 0) return true;
  return !readings.every((reading) => isOver(reading) && isPaid(reading)) || (moving !== 0 && !isLost);
}

/**
 * States of buckets in the order of importance. An activity has the first of these states that one of its buckets has; it is closed, for
 * example, as soon as one bucket is. An open activity without packets is `sold-out`.
 */
const ORDER = ['draft', 'closed', 'paused', 'ended', 'preheated', 'open'] as const;

function stateOf(readings: readonly BucketReading[]): ActivityState {
  const state = ORDER.find((each) => readings.some((reading) => reading.state === each)) ?? 'draft';
  return state === 'open' && isSoldOut(readings) ? 'sold-out' : state;
}
