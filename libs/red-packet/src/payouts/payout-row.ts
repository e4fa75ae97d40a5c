import { activityKeyOf } from '../activity-key';
import type { BucketKeys, Layouts } from '../buckets/layout';
import type { Grant } from '../red-packet.types';

/** Returns the field `activity` of all payouts of a bucket: `<activityKey>/<buckets>/<bucket>`. begin-activity.lua makes the same text. */
export function ownerOf(activityId: string, expiresAtMs: number, buckets: number, bucket: number): string {
  return ownerText(activityKeyOf(activityId, expiresAtMs), buckets, bucket);
}

/** Returns the same text as `ownerOf`, for an activity whose key is known. */
export function ownerText(activityKey: string, buckets: number, bucket: number): string {
  return `${activityKey}/${buckets}/${bucket}`;
}

/** A row in a stream of payouts: a grant that must be paid, its activity, and the keys of its bucket. */
export interface PayoutRow {
  readonly activityId: string;
  readonly activityKey: string;
  /** Field `activity` of the row, see `ownerOf`. */
  readonly owner: string;
  readonly grant: Grant;
  readonly keys: BucketKeys;
}

/** Returns the fields by which scripts recognise a row. The id of the row is not enough: after a failover, another row may have it. */
export function fieldsOf({ owner, grant }: PayoutRow): { owner: string; user: string; grant: string } {
  const { userId, packetId, amountCents, grantedAtMs } = grant;
  return { owner, user: userId, grant: `${packetId}:${amountCents}:${grantedAtMs}` };
}

/** Parses the grant of a row. Returns undefined for an entry that is not a payout, such as one of another program. */
export function grantOf({ user, grant }: Readonly<Record<string, unknown>>): Grant | undefined {
  const parts = typeof grant === 'string' ? /^([1-9]\d{0,6}):([1-9]\d{0,15}):([1-9]\d{0,15})$/.exec(grant) : null;
  if (typeof user !== 'string' || user === '' || parts === null) return undefined;
  const [, packetId = '', cents, at] = parts;
  const [amountCents, grantedAtMs] = [Number(cents), Number(at)];
  return Number.isSafeInteger(amountCents) ? { userId: user, packetId, amountCents, grantedAtMs } : undefined;
}

/**
 * Parses a row. @param outbox key of the stream that has the row @returns undefined for an entry that no grab has written to this stream
 */
export function rowOf(fields: unknown, outbox: string, layouts: Layouts): PayoutRow | undefined {
  const entry = (fields ?? {}) as Readonly<Record<string, unknown>>;
  const { activity } = entry;
  const grant = grantOf(entry);
  const parts =
    typeof activity === 'string' ? /^(([^/@]{1,1200})@\d{1,16})\/(\d{1,2})\/(\d{1,2})$/.exec(activity) : null;
  if (grant === undefined || parts === null) return undefined;
  const [owner, activityKey = '', encoded = ''] = parts;
  const [buckets, bucket] = [Number(parts[3]), Number(parts[4])];
  const activityId = decoded(encoded);
  if (activityId === '' || activityId.length > 128 || bucket >= buckets) return undefined;
  const keys = layouts.bucket(activityId, buckets, bucket);
  return keys.outbox === outbox ? { activityId, activityKey, owner, grant, keys } : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
