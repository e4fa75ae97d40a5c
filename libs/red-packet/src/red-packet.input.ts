import { Checks, InvalidInputError } from '../../internal/src';
import type { CreateActivity, Packet, SplitMethod } from './red-packet.types';

/** Checked parameters of an activity with their defaults, except for `amounts`. If `endsAtMs` is 0, begin-activity.lua computes the end. */
export type CheckedActivity = Required<Omit<CreateActivity, 'amounts'>> & Pick<CreateActivity, 'amounts'>;

const MAX_PACKETS = 1_000_000;
const MAX_BUCKETS = 64;
/**
 * Largest total of an activity with several buckets (shards), cents. Each packet in Redis has a running sum of cents, which must stay below
 * 2^53. The sum can exceed the total, because a packet that moves to another bucket is added there again.
 */
const MAX_SHARDED_CENTS = 2 ** 46;
const METHODS: readonly SplitMethod[] = ['double-mean', 'line-cut', 'equal', 'given'];
const MAX_ACTIVITY_ID = 128;
const MAX_ACTIVITY_KEY = 1_200;
const MAX_USER_ID = 256;
/** Largest cursor of HSCAN, and largest part of a stream entry's id. */
const MAX_CURSOR = 2n ** 64n - 1n;
const NEXT_CURSOR = 'the nextCursor of the previous page, or undefined for the first page';
/** Last instant that an activity may have: the beginning of the year 2100, ms since 1970. */
const MAX_TIME_MS = 4_102_444_800_000;

/** Checks input. The InvalidInputError names the field, its value and what is expected. */
export const check = new Checks('', (message) => new InvalidInputError(message));

/** Throws InvalidInputError for an invalid field. @param expected the end of the sentence `Expected ...` in the message */
export function refuse(field: string, value: unknown, expected: string): never {
  return check.refuse(field, value, expected);
}

/** Checks an activity's id. @throws InvalidInputError unless it has 1 to 128 well-formed characters */
export function checkActivityId(value: unknown): string {
  return check.id('activityId', value, MAX_ACTIVITY_ID);
}

/** Checks the key of an activity. @throws InvalidInputError unless it has 1 to 1,200 well-formed characters */
export function checkActivityKey(value: unknown): string {
  return check.id('activityKey', value, MAX_ACTIVITY_KEY);
}

/** Checks a user's id. @throws InvalidInputError unless it has 1 to 256 well-formed characters */
export function checkUserId(value: unknown): string {
  return check.id('userId', value, MAX_USER_ID);
}

/** Start of a page: a bucket (shard of an activity), and a cursor or an id there. */
export interface BucketPosition {
  readonly bucket: number;
  readonly at: string;
}

/** Checks that the bucket in a cursor exists. @throws InvalidInputError if the activity has no such bucket */
export function checkBucket(cursor: string, bucket: number, buckets: number): void {
  if (bucket >= buckets) refuse('cursor', cursor, NEXT_CURSOR);
}

/** Parses a cursor of grants, `<HSCAN cursor>` or `<HSCAN cursor>@<bucket>`. @throws InvalidInputError for other text */
export function checkCursor(value: unknown): BucketPosition {
  const match = typeof value === 'string' ? /^(\d{1,20})(?:@(\d{1,2}))?$/.exec(value) : null;
  if (match?.[1] === undefined || BigInt(match[1]) > MAX_CURSOR) return refuse('cursor', value, NEXT_CURSOR);
  return { at: match[1], bucket: Number(match[2] ?? 0) };
}

/** Checks the limit of a page. Default 100. @throws InvalidInputError unless it is an integer from 1 to `max` */
export function checkLimit(limit: unknown, max: number): number {
  return check.integer('limit', limit ?? 100, 1, max);
}

/**
 * Parses the id of a dead-lettered payout, or a cursor of them: `<bucket>:<stream entry id>`.
 *
 * @param field name of the value, for the error
 * @throws InvalidInputError for other text
 */
export function checkDeadId(field: 'id' | 'cursor', value: unknown): BucketPosition {
  const [, bucket, ...parts] =
    (typeof value === 'string' ? /^(\d{1,2}):(\d{1,20})-(\d{1,20})$/.exec(value) : null) ?? [];
  if (bucket === undefined || parts.some((part) => BigInt(part) > MAX_CURSOR))
    return refuse(field, value, field === 'id' ? 'the id of a dead-lettered payout' : NEXT_CURSOR);
  return { bucket: Number(bucket), at: parts.join('-') };
}

/**
 * Checks the parameters of an activity, and fills in the defaults that `CheckedActivity` has.
 *
 * @throws InvalidInputError for an invalid parameter, and for a total that is less than `packets * minCents` or more
 *   than `packets * maxCents`
 */
export function checkActivity(input: CreateActivity): CheckedActivity {
  const activityId = checkActivityId(input.activityId);
  const totalCents = check.integer('totalCents', input.totalCents, 1, Number.MAX_SAFE_INTEGER);
  const packets = check.integer('packets', input.packets, 1, MAX_PACKETS);
  const bounds = checkBounds(input, totalCents, packets);
  const buckets = check.integer('buckets', input.buckets ?? 1, 1, Math.min(MAX_BUCKETS, packets));
  if (buckets > 1 && totalCents > MAX_SHARDED_CENTS) {
    refuse('totalCents', totalCents, `at most ${MAX_SHARDED_CENTS} cents, because the activity has ${buckets} buckets`);
  }
  const startsAtMs = check.integer('startsAtMs', input.startsAtMs ?? 0, 0, MAX_TIME_MS);
  const endsAtMs = check.integer('endsAtMs', input.endsAtMs ?? 0, 0, MAX_TIME_MS);
  if (endsAtMs > 0 && endsAtMs <= startsAtMs) {
    refuse(
      'endsAtMs',
      endsAtMs,
      `a time after startsAtMs, which is ${startsAtMs} (ms since 1970), or 0 for the default`,
    );
  }
  const maxTries = check.integer('maxTries', input.maxTries ?? 0, 0, 1_000_000);
  const amounts = input.amounts === undefined ? undefined : checkAmounts(input.amounts, totalCents, packets, bounds);
  const split = checkSplit(input.split ?? (amounts === undefined ? 'double-mean' : 'given'), amounts);
  return { activityId, totalCents, packets, ...bounds, buckets, startsAtMs, endsAtMs, maxTries, split, amounts };
}

interface Bounds {
  readonly minCents: number;
  readonly maxCents: number;
}

function checkBounds(input: CreateActivity, totalCents: number, packets: number): Bounds {
  const minCents = check.integer('minCents', input.minCents ?? 1, 1, Number.MAX_SAFE_INTEGER);
  const cap = input.maxCents ?? Math.max(totalCents, minCents);
  const maxCents = check.integer('maxCents', cap, minCents, Number.MAX_SAFE_INTEGER);
  const [least, most] = [BigInt(packets) * BigInt(minCents), BigInt(packets) * BigInt(maxCents)];
  if (least > BigInt(totalCents)) {
    refuse(
      'totalCents',
      totalCents,
      `at least ${least} cents, because there are ${packets} packets of at least ${minCents} cents`,
    );
  }
  if (most < BigInt(totalCents)) {
    refuse(
      'totalCents',
      totalCents,
      `at most ${most} cents, because there are ${packets} packets of at most ${maxCents} cents`,
    );
  }
  return { minCents, maxCents };
}

function checkSplit(value: unknown, amounts: readonly number[] | undefined): SplitMethod {
  const method = check.choice('split', value, METHODS);
  if (method === 'given' && amounts === undefined) {
    throw check.error(
      "split is 'given', but amounts is missing. Set amounts (cents of each packet), or choose another split.",
    );
  }
  if (method !== 'given' && amounts !== undefined)
    refuse('split', value, "'given' or undefined, because amounts is set");
  return method;
}

function checkAmounts(value: unknown, totalCents: number, packets: number, bounds: Bounds): readonly number[] {
  if (!Array.isArray(value)) return refuse('amounts', value, 'an array of integers, the cents of each packet');
  if (value.length !== packets) refuse('amounts', value, `${packets} amounts, one for each packet`);
  let sum = 0n;
  for (const cents of value as unknown[]) {
    sum += BigInt(check.integer('amounts', cents, bounds.minCents, bounds.maxCents));
  }
  if (sum !== BigInt(totalCents)) {
    refuse('amounts', value, `amounts whose sum is totalCents, ${totalCents} cents. Their sum is ${sum} cents`);
  }
  return value as readonly number[];
}

/** Checks a packet's id. @throws InvalidInputError unless it is 1 to 7 digits without a leading zero */
export function checkPacketId(value: unknown): string {
  return check.text('packetId', value, /^[1-9]\d{0,6}$/, 'the id of a packet: 1 to 7 digits without a leading zero');
}

/** Checks the fields of a packet. @throws InvalidInputError that names the first invalid field */
export function checkPacket({ packetId, amountCents, grantedAtMs }: Packet): Packet {
  return {
    packetId: checkPacketId(packetId),
    amountCents: check.integer('amountCents', amountCents, 1, Number.MAX_SAFE_INTEGER),
    grantedAtMs: check.integer('grantedAtMs', grantedAtMs, 0, MAX_TIME_MS),
  };
}

/**
 * Converts an amount such as "10000.00" to cents. Calculates only with integers, because a float such as 0.29 * 100 could lose a cent.
 *
 * @throws InvalidInputError unless the amount is digits with at most two decimals, and at most 2^53 - 1 cents
 */
export function parseMoney(field: string, value: unknown): number {
  const match = typeof value === 'string' ? /^(\d{1,14})(?:\.(\d{1,2}))?$/.exec(value) : null;
  const cents = match ? Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0')) : Number.NaN;
  if (Number.isSafeInteger(cents)) return cents;
  return refuse(
    field,
    value,
    'a string of digits with at most two decimals, such as "10000.00", up to "90071992547409.91"',
  );
}
