/** An entry of the stream that a take script returned. */
export interface TakenEntry {
  readonly id: string;
  /** JSON as text; on a stream with `keys`, the packed fields as bytes. */
  readonly payload: string | Buffer;
  /** Key of the message; '' without a key. */
  readonly key: string;
  /** Operation id of the publisher; '' without an operation id. */
  readonly operation: string;
  /** Number of the attempt, from 1; 0 for an entry that is for another group. */
  readonly attempt: number;
  /** Time of the first delivery, ms since 1970 by Redis' clock. */
  readonly firstSeenMs: number;
}

/** Reply of a take script, which gives this process entries of a partition to handle. */
export interface TakeAnswer {
  readonly state: 'taken' | 'lost' | 'no-group';
  /** True if the partition may have more entries to take. */
  readonly more: boolean;
  /** True if no new entries were read, because as many keys as `maxKeys` have entries that are not settled. */
  readonly blocked: boolean;
  /** Time until the next retry is due, ms; Infinity if none waits. */
  readonly dueInMs: number;
  /** Time until the next lease ends, ms; 0 if one has ended, Infinity if there is none. */
  readonly endInMs: number;
  readonly entries: readonly TakenEntry[];
}

const STATES = ['lost', 'taken', 'no-group'] as const;
/** Columns of an entry that was not delivered before and is for this group. */
const NEW_COLUMNS = 4;
/** Columns of any other entry. */
const OLD_COLUMNS = 6;

/** Reads the reply of a take script: six numbers, then rows of six columns, then rows of four columns. */
export function takeAnswer(raw: (string | number)[]): TakeAnswer {
  return answerOf(raw);
}

/** Reads the reply of a take script for a stream with `keys`, whose payloads are bytes. */
/** Reply of a script whose strings are bytes. */
type BytesReply = number | Buffer | null | BytesReply[];

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
  const time = (ms: number): number => (ms < 0 ? Infinity : ms);
  return {
    state: STATES[state] ?? 'lost',
    more: more === 1,
    blocked: more === 2,
    dueInMs: time(dueInMs),
    endInMs: time(endInMs),
    entries,
  };
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
