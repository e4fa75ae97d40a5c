import { Checks, shown } from '../../internal/src';
import { InvalidRedPacketInputError } from './red-packet.errors';
import type { CreateActivity, Packet, SplitMethod } from './red-packet.types';

/** Figures of an activity, checked, with defaults filled in. */
export type CheckedActivity = Required<Omit<CreateActivity, 'amounts' | 'seed'>> &
  Pick<CreateActivity, 'amounts' | 'seed'>;

/** Most packets of one activity. */
const MAX_PACKETS = 1_000_000;
/** Most buckets of one activity. */
const MAX_BUCKETS = 64;
/** Most cents of an activity with several buckets: packets that move add to the sums that a pool keeps. */
const MAX_SPREAD_CENTS = 2 ** 46;
const METHODS: readonly SplitMethod[] = ['double-mean', 'line-cut', 'equal', 'given'];
const MAX_ACTIVITY_ID = 128;
const MAX_USER_ID = 256;
const MAX_CURSOR = 2n ** 64n - 1n;
const OWN_CURSOR = 'Give the nextCursor of the page before, or none.';
/** The last instant that JavaScript's Date can tell. */
const MAX_TIME_MS = 8_640_000_000_000_000;

/** Checks of input. @throws InvalidRedPacketInputError naming the field */
export const check = new Checks('', (message) => new InvalidRedPacketInputError(message));

/** Refuses input. @throws InvalidRedPacketInputError always */
export function refuse(field: string, value: unknown, remedy: string): never {
  throw new InvalidRedPacketInputError(`${field} is ${shown(value)}. ${remedy}`);
}

function checkText(field: string, value: unknown, maxChars: number): string {
  if (typeof value !== 'string' || value === '' || value.length > maxChars || !value.isWellFormed()) {
    refuse(field, value, `Expected 1 to ${maxChars} characters of well-formed Unicode.`);
  }
  return value;
}

/** An activity's id. @throws InvalidRedPacketInputError unless it is 1 to 128 well-formed characters */
export function checkActivityId(value: unknown): string {
  return checkText('activityId', value, MAX_ACTIVITY_ID);
}

/** A user's id. @throws InvalidRedPacketInputError unless it is 1 to 256 well-formed characters */
export function checkUserId(value: unknown): string {
  return checkText('userId', value, MAX_USER_ID);
}

/** A position in one of an activity's buckets. */
export interface Placed {
  readonly bucket: number;
  readonly at: string;
}

/** Refuses a cursor for a bucket that the activity does not have. @throws InvalidRedPacketInputError */
export function checkBucket(cursor: string, bucket: number, buckets: number): void {
  if (bucket >= buckets) {
    refuse('cursor', cursor, 'The activity has no such bucket. Give the nextCursor of the page before.');
  }
}

/** A page's cursor, `<cursor>` or `<cursor>@<bucket>`. @throws InvalidRedPacketInputError unless Redis could have given it */
export function checkCursor(value: unknown): Placed {
  const match = typeof value === 'string' ? /^(\d{1,20})(?:@(\d{1,2}))?$/.exec(value) : null;
  if (match?.[1] === undefined || BigInt(match[1]) > MAX_CURSOR) {
    return refuse('cursor', value, OWN_CURSOR);
  }
  return { at: match[1], bucket: Number(match[2] ?? 0) };
}

/** The most items of a page. @throws InvalidRedPacketInputError */
export function checkLimit(limit: unknown, max: number): number {
  return check.integer('limit', limit ?? 100, 1, max);
}

/** A cursor of dead payouts, `<bucket>:<entry>`. @throws InvalidRedPacketInputError unless Redis could have given it */
export function checkDeadCursor(value: unknown): Placed {
  const [, bucket, ...parts] =
    (typeof value === 'string' ? /^(\d{1,2}):(\d{1,20})-(\d{1,20})$/.exec(value) : null) ?? [];
  if (bucket === undefined || parts.some((part) => BigInt(part) > MAX_CURSOR))
    return refuse('cursor', value, OWN_CURSOR);
  return { bucket: Number(bucket), at: value as string };
}

/**
 * Figures of an activity, with defaults filled in.
 *
 * @throws InvalidRedPacketInputError for impossible figures, too: no split gives each packet its minimum, or the cap keeps
 *   the total from being handed out
 */
export function checkActivity(input: CreateActivity): CheckedActivity {
  const activityId = checkActivityId(input.activityId);
  const totalCents = check.integer('totalCents', input.totalCents, 1, Number.MAX_SAFE_INTEGER);
  const packets = check.integer('packets', input.packets, 1, MAX_PACKETS);
  const bounds = checkBounds(input, totalCents, packets);
  const buckets = check.integer('buckets', input.buckets ?? 1, 1, Math.min(MAX_BUCKETS, packets));
  if (buckets > 1) check.integer('totalCents', totalCents, 1, MAX_SPREAD_CENTS);
  const startsAtMs = check.integer('startsAtMs', input.startsAtMs ?? 0, 0, MAX_TIME_MS);
  const endsAtMs = check.integer('endsAtMs', input.endsAtMs ?? 0, 0, MAX_TIME_MS);
  if (endsAtMs > 0 && endsAtMs <= startsAtMs) {
    refuse('endsAtMs', endsAtMs, `Give a time after startsAtMs, ${startsAtMs}, or leave it out.`);
  }
  const maxTries = check.integer('maxTries', input.maxTries ?? 0, 0, 1_000_000);
  const seed = input.seed === undefined ? undefined : checkSeed(input.seed);
  const amounts = input.amounts === undefined ? undefined : checkAmounts(input.amounts, totalCents, packets, bounds);
  const split = checkSplit(input.split ?? (amounts === undefined ? 'double-mean' : 'given'), amounts);
  return { activityId, totalCents, packets, ...bounds, buckets, startsAtMs, endsAtMs, maxTries, split, seed, amounts };
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
      `${packets} packets of at least ${minCents} need ${least}: raise the total, or lower packets or minCents.`,
    );
  }
  if (most < BigInt(totalCents)) {
    refuse(
      'totalCents',
      totalCents,
      `${packets} packets of at most ${maxCents} hold ${most}: lower the total, or raise packets or maxCents.`,
    );
  }
  return { minCents, maxCents };
}

function checkSeed(value: unknown): string {
  if (typeof value !== 'string' || !/^[0-9a-f]{32}$/.test(value)) refuse('seed', value, 'Give 32 hex digits, or none.');
  return value;
}

function checkSplit(value: unknown, amounts: readonly number[] | undefined): SplitMethod {
  const known = METHODS.find((method) => method === value);
  if (known === undefined) return refuse('split', value, `Give one of ${METHODS.join(', ')}.`);
  if ((known === 'given') !== (amounts !== undefined)) refuse('split', value, 'given is the one that takes amounts.');
  return known;
}

function checkAmounts(value: unknown, totalCents: number, packets: number, bounds: Bounds): readonly number[] {
  if (!Array.isArray(value)) return refuse('amounts', value, 'Give an array of cents.');
  if (value.length !== packets) refuse('amounts', value, `It has ${value.length} entries for ${packets} packets.`);
  let sum = 0n;
  for (const cents of value as unknown[]) {
    sum += BigInt(check.integer('amounts', cents, bounds.minCents, bounds.maxCents));
  }
  if (sum !== BigInt(totalCents))
    refuse('amounts', value, `They add up to ${sum} and not to totalCents, ${totalCents}.`);
  return value as readonly number[];
}

/** A packet's id. @throws InvalidRedPacketInputError unless it is 1 to 7 digits */
export function checkPacketId(value: unknown): string {
  if (typeof value !== 'string' || !/^[1-9]\d{0,6}$/.test(value)) refuse('packetId', value, 'Give the id of a packet.');
  return value;
}

/** A packet. @throws InvalidRedPacketInputError naming the field that is wrong */
export function checkPacket({ packetId, amountCents, grantedAtMs }: Packet): Packet {
  return {
    packetId: checkPacketId(packetId),
    amountCents: check.integer('amountCents', amountCents, 1, Number.MAX_SAFE_INTEGER),
    grantedAtMs: check.integer('grantedAtMs', grantedAtMs, 0, MAX_TIME_MS),
  };
}

/**
 * Reads an amount such as "10000.00" into cents, digit by digit: floats lose cents.
 *
 * @throws InvalidRedPacketInputError unless it is digits with at most two decimals, within 2^53 - 1 cents
 */
export function parseMoney(field: string, value: unknown): number {
  const match = typeof value === 'string' ? /^(\d{1,14})(?:\.(\d{1,2}))?$/.exec(value) : null;
  const cents = match ? Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0')) : Number.NaN;
  if (Number.isSafeInteger(cents)) return cents;
  return refuse(field, value, 'Give a string of digits with at most two decimals, such as "10000.00".');
}
