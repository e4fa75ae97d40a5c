import { Checks, shown, InvalidInputError } from '../../internal/src';
import type { LedgerRow } from './read-reward.types';

const MAX_ID_CHARS = 256;

interface GrantParts {
  readonly rule: string;
  readonly startsAtMs: number;
  readonly seq: number;
  readonly userId: string;
  readonly itemId: string;
}

const input = new Checks('', (message) => new InvalidInputError(message));

/**
 * Checks an id, and returns it.
 *
 * @throws InvalidInputError that contains `name`, unless the id is 1 to 256 characters of well-formed Unicode
 */
export function checkId(name: string, value: unknown): string {
  return input.id(name, value, MAX_ID_CHARS);
}

const PLAIN = /^[\w.-]+$/;

function escaped(id: string): string {
  return PLAIN.test(id) ? id : encodeURIComponent(id);
}

/**
 * Returns the id of a grant (points for one item): `<rule>:<start>:<seq>:<user>:<item>`. `start` is the start of the period, and `seq` the
 * number of the grant in the period. The ids of user and item are percent-encoded if necessary.
 */
export function grantIdOf(rule: string, startsAtMs: number, seq: number, userId: string, itemId: string): string {
  return `${rule}:${startsAtMs}:${seq}:${escaped(userId)}:${escaped(itemId)}`;
}

/**
 * Parses the id of a grant.
 *
 * @throws InvalidInputError for a value that is not a grant id
 */
export function readGrantId(grantId: unknown): GrantParts {
  const text = typeof grantId === 'string' ? grantId : '';
  const shape = /^([a-z0-9-]+):(\d{1,15}):([1-9]\d{0,14}):([^:]+):([^:]+)$/.exec(text);
  const [, rule, start, seq, user = '', item = ''] = shape ?? [];
  try {
    if (rule === undefined) throw new Error('The text does not have the form <rule>:<start>:<seq>:<user>:<item>.');
    const ids = { userId: decodeURIComponent(user), itemId: decodeURIComponent(item) };
    return { rule, startsAtMs: Number(start), seq: Number(seq), ...ids };
  } catch (cause) {
    throw new InvalidInputError(
      `ReadRewardService: grantId is ${shown(grantId)}. Expected the unchanged grantId of a result with status rewarded, or of a row of the ledger.`,
      { cause },
    );
  }
}

const TEXTS = ['rule', 'user', 'item'] as const;
const INTEGERS = ['points', 'start', 'seq', 'at'] as const;

function integerOf(text: string | undefined): number {
  return text === undefined || text === '' ? NaN : Number(text);
}

/**
 * Parses an entry of a ledger stream, as XRANGE and XREADGROUP return it.
 *
 * @param fields names and values, alternating
 * @throws InvalidInputError for any other entry. The message names the missing or invalid fields, but not their values
 */
export function parseLedgerRow(fields: readonly string[]): LedgerRow {
  const row = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) row.set(fields[i] as string, fields[i + 1] as string);
  const kind = row.get('kind');
  const [rule = '', userId = '', itemId = ''] = TEXTS.map((name) => row.get(name));
  const [points = 0, start = 0, seq = 0, atMs = 0] = INTEGERS.map((name) => integerOf(row.get(name)));
  const wrong = [
    ...(kind === 'grant' || kind === 'refund' ? [] : ['kind']),
    ...TEXTS.filter((name) => !row.get(name)),
    ...INTEGERS.filter((name) => !Number.isSafeInteger(integerOf(row.get(name)))),
  ];
  if ((kind !== 'grant' && kind !== 'refund') || wrong.length > 0) {
    throw new InvalidInputError(
      `This stream entry is not a row of a reward ledger. Missing or invalid fields: ${wrong.join(', ')}. Read only the streams of ledgerKeys().`,
    );
  }
  return { kind, grantId: grantIdOf(rule, start, seq, userId, itemId), rule, userId, itemId, points, atMs };
}
