import { shown } from '../../internal/src';
import { InvalidReadRewardInputError } from './read-reward.errors';
import type { LedgerRow } from './read-reward.types';

const MAX_ID_CHARS = 256;

/** What a grant id says. */
interface GrantParts {
  readonly rule: string;
  readonly startMs: number;
  readonly seq: number;
  readonly userId: string;
  readonly itemId: string;
}

/**
 * Refuses an id that is no string of 1 to 256 well-formed characters.
 *
 * @throws InvalidReadRewardInputError naming the field and the value
 */
export function checkId(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARS && value.isWellFormed()) return value;
  throw new InvalidReadRewardInputError(
    `${name} is ${shown(value)}. Give a string of 1 to ${MAX_ID_CHARS} characters.`,
  );
}

const PLAIN = /^[\w.-]+$/;

function escaped(id: string): string {
  return PLAIN.test(id) ? id : encodeURIComponent(id);
}

/** Writes a grant's id: `<rule>:<start>:<seq>:<user>:<item>`, with both ids escaped. */
export function grantIdOf(rule: string, startMs: number, seq: number, userId: string, itemId: string): string {
  return `${rule}:${startMs}:${seq}:${escaped(userId)}:${escaped(itemId)}`;
}

/**
 * Reads a grant's id.
 *
 * @throws InvalidReadRewardInputError for text that is none
 */
export function readGrantId(grantId: unknown): GrantParts {
  const text = typeof grantId === 'string' ? grantId : '';
  const shape = /^([a-z0-9-]+):(\d{1,15}):([1-9]\d{0,14}):([^:]+):([^:]+)$/.exec(text);
  const [, rule, start, seq, user = '', item = ''] = shape ?? [];
  try {
    if (rule === undefined) throw new Error('it has not the shape of a grant id');
    const ids = { userId: decodeURIComponent(user), itemId: decodeURIComponent(item) };
    return { rule, startMs: Number(start), seq: Number(seq), ...ids };
  } catch (cause) {
    throw new InvalidReadRewardInputError(
      `grantId is ${shown(grantId)}. Give the grantId of a rewarded answer, unchanged.`,
      { cause },
    );
  }
}

/**
 * Reads the fields of an entry of a ledger stream, as XRANGE and XREADGROUP give them.
 *
 * @param fields names and values in turn
 * @throws InvalidReadRewardInputError for an entry that this lib did not write
 */
export function parseLedgerRow(fields: readonly string[]): LedgerRow {
  const row = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) row.set(fields[i] as string, fields[i + 1] as string);
  const [kind, rule, userId, itemId] = ['kind', 'rule', 'user', 'item'].map((name) => row.get(name) ?? '');
  const [points, start, seq, atMs] = ['points', 'start', 'seq', 'at'].map((name) => Number(row.get(name) ?? NaN));
  if ((kind !== 'grant' && kind !== 'refund') || ![points, start, seq, atMs].every(Number.isSafeInteger)) {
    throw new InvalidReadRewardInputError(`${JSON.stringify(fields).slice(0, 200)} is no row of a reward ledger.`);
  }
  const grantId = grantIdOf(rule as string, start as number, seq as number, userId as string, itemId as string);
  return {
    kind,
    grantId,
    rule: rule as string,
    userId: userId as string,
    itemId: itemId as string,
    points: points as number,
    atMs: atMs as number,
  };
}
