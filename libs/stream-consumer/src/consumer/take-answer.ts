import type { BytesReply } from 'luanest/script-registry';

/** An entry as a take gives it. */
export interface TakenEntry {
  readonly id: string;
  /** Of our own streams the JSON, or whatever is in its place; of streams of other programs the fields, packed. */
  readonly payload: string | Buffer;
  /** '' for none. */
  readonly key: string;
  /** '' for none. */
  readonly operation: string;
  /** From 1; 0 for an entry that is for another group. */
  readonly attempt: number;
  /** First delivery, ms since 1970 by Redis' clock. */
  readonly firstSeenMs: number;
}

/** What a take answers. */
export interface TakeAnswer {
  readonly state: 'taken' | 'lost' | 'no-group';
  readonly more: boolean;
  /** Until a retry is due, ms; -1 for none. */
  readonly dueInMs: number;
  /** Until a lease is over that must be taken over, ms. */
  readonly endInMs: number;
  readonly entries: readonly TakenEntry[];
}

const STATES = ['lost', 'taken', 'no-group'] as const;
const NEW_COLUMNS = 4;
const OLD_COLUMNS = 6;

/** Reads what a take answers: six figures, rows of six columns, then rows of four. */
export function takeAnswer(raw: (string | number)[]): TakeAnswer {
  return answerOf(raw);
}

/** Reads what a take of another program's entries answers, whose payloads are bytes. */
export function takeAnswerOfBytes(raw: BytesReply[]): TakeAnswer {
  return answerOf(raw as (Buffer | number)[]);
}

function answerOf(raw: readonly (string | Buffer | number)[]): TakeAnswer {
  const [state = 0, more, dueInMs = -1, endInMs = -1, nowMs = 0, again = 0] = raw as readonly number[];
  const row = raw as readonly (string | Buffer)[];
  const entries: TakenEntry[] = [];
  let at = 6;
  for (const end = at + again * OLD_COLUMNS; at < end; at += OLD_COLUMNS) entries.push(entryAt(row, at, true, nowMs));
  for (; at < row.length; at += NEW_COLUMNS) entries.push(entryAt(row, at, false, nowMs));
  return { state: STATES[state] ?? 'lost', more: more === 1, dueInMs, endInMs, entries };
}

function entryAt(row: readonly (string | Buffer)[], at: number, old: boolean, nowMs: number): TakenEntry {
  return {
    id: String(row[at]),
    payload: row[at + 1] as string | Buffer,
    key: String(row[at + 2]),
    operation: String(row[at + 3]),
    attempt: old ? Number(row[at + 4]) : 1,
    firstSeenMs: old ? Number(row[at + 5]) : nowMs,
  };
}
