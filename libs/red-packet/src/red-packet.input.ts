import { InvalidRedPacketInputError } from './red-packet.errors';
import type { CreateActivity } from './red-packet.types';

/** Most packets of one activity. */
export const MAX_PACKETS = 100_000;
const MAX_ACTIVITY_ID = 128;
const MAX_USER_ID = 256;
const MAX_CURSOR = 2n ** 64n - 1n;

function shown(value: unknown): string {
  // JSON has no BigInt, and writes NaN as null.
  const text = typeof value === 'string' || typeof value === 'object' ? JSON.stringify(value) : plain(value);
  return text.length > 80 ? `${text.slice(0, 80)}… (${text.length} characters)` : text;
}

function plain(value: unknown): string {
  return typeof value === 'bigint' ? `${value}n` : String(value);
}

/** Refuses input. @throws InvalidRedPacketInputError always */
export function refuse(field: string, value: unknown, remedy: string): never {
  throw new InvalidRedPacketInputError(`${field} is ${shown(value)}. ${remedy}`);
}

/** An integer within bounds. @throws InvalidRedPacketInputError naming the field */
export function checkInteger(field: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    refuse(field, value, `Give an integer of ${min} to ${max}.`);
  }
  return value;
}

function checkText(field: string, value: unknown, maxChars: number): string {
  if (typeof value !== 'string' || value === '' || value.length > maxChars || !value.isWellFormed()) {
    refuse(field, value, `Give 1 to ${maxChars} characters of well-formed Unicode.`);
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

/** A payout worker's name. @throws InvalidRedPacketInputError unless it is 1 to 256 well-formed characters */
export function checkWorker(value: unknown): string {
  return checkText('worker', value, MAX_USER_ID);
}

/** A page's cursor. @throws InvalidRedPacketInputError unless Redis could have given it */
export function checkCursor(value: unknown): string {
  if (typeof value !== 'string' || !/^\d{1,20}$/.test(value) || BigInt(value) > MAX_CURSOR) {
    refuse('cursor', value, 'Give the nextCursor of the page before, or none.');
  }
  return value;
}

/** A stream entry's id. @throws InvalidRedPacketInputError unless it is `<digits>-<digits>` */
export function checkEntryId(value: unknown): string {
  if (typeof value !== 'string' || !/^\d{1,20}-\d{1,20}$/.test(value))
    refuse('entryId', value, 'Give an entryId of claimPayouts.');
  return value;
}

/**
 * Figures of an activity, with defaults filled in.
 *
 * @throws InvalidRedPacketInputError for impossible figures, too: no split gives each packet its minimum, or the cap keeps
 *   the total from being handed out
 */
export function checkActivity(input: CreateActivity): Required<CreateActivity> {
  const activityId = checkActivityId(input.activityId);
  const totalCents = checkInteger('totalCents', input.totalCents, 1, Number.MAX_SAFE_INTEGER);
  const packets = checkInteger('packets', input.packets, 1, MAX_PACKETS);
  const minCents = checkInteger('minCents', input.minCents ?? 1, 1, Number.MAX_SAFE_INTEGER);
  const maxCents = checkInteger(
    'maxCents',
    input.maxCents ?? Math.max(totalCents, minCents),
    minCents,
    Number.MAX_SAFE_INTEGER,
  );
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
  return { activityId, totalCents, packets, minCents, maxCents };
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
