/** An entry as a take gives it. */
export interface TakenEntry {
  readonly id: string;
  /** JSON, or whatever another program has written there. */
  readonly payload: string;
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
  const [state = 0, more, dueInMs = -1, endInMs = -1, nowMs = 0, again = 0] = raw as number[];
  const row = raw as string[];
  const entries: TakenEntry[] = [];
  let at = 6;
  for (const end = at + again * OLD_COLUMNS; at < end; at += OLD_COLUMNS) entries.push(entryAt(row, at, true, nowMs));
  for (; at < row.length; at += NEW_COLUMNS) entries.push(entryAt(row, at, false, nowMs));
  return { state: STATES[state] ?? 'lost', more: more === 1, dueInMs, endInMs, entries };
}

function entryAt(row: readonly string[], at: number, old: boolean, nowMs: number): TakenEntry {
  return {
    id: row[at] as string,
    payload: row[at + 1] as string,
    key: row[at + 2] as string,
    operation: row[at + 3] as string,
    attempt: old ? Number(row[at + 4]) : 1,
    firstSeenMs: old ? Number(row[at + 5]) : nowMs,
  };
}
