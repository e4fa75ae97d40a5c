import { Checks, InvalidInputError, SetupError, shown, type Page } from '../../internal/src';
import { checkTable } from './outbox.options';
import type { OutboxRow, OutboxStats, SqlQuery } from './outbox.types';

/**
 * First key of the PostgreSQL advisory lock under which rows are sent: the letters `luan` as a number. The second key is the oid of the
 * table.
 */
const LOCK = 0x6c_75_61_6e;
/** Beginning of the column `error` of a row for which it is unknown whether it took effect. */
export const UNDECIDED = 'UNDECIDED:';
/**
 * SQL that makes PostgreSQL end the current transaction after a minute without a statement. Otherwise the lock of a machine that failed
 * could stay for two hours or more.
 */
const LIMITED = `set_config('idle_in_transaction_session_timeout', '60000', true)`;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

export type RowState = 'waiting' | 'failed' | 'undecided';

export const outboxInput = new Checks('OutboxService', (message) => new InvalidInputError(message));

/** A row to write. */
export type NewRow = Pick<OutboxRow, 'id' | 'kind' | 'target' | 'payload' | 'options'>;

/** A row that is about to be sent. The column `first_sent_at` already has the time of sending. */
export interface MarkedRow extends NewRow {
  readonly seq: string;
  /** Time since the row was written, ms. */
  readonly ageMs: number;
  /** Time since the row was first sent, ms; undefined if it was not sent before. */
  readonly sentMs: number | undefined;
}

/** Result for each of the rows that were sent together. */
export interface Outcomes {
  readonly sent: MarkedRow[];
  readonly failed: { readonly row: MarkedRow; readonly error: string }[];
  /** Rows that certainly had no effect yet. */
  readonly unsent: MarkedRow[];
}

/** A row as a database driver returns it. The statements cast all columns to text, because drivers represent other types differently. */
type Row = Readonly<Record<string, string | null | undefined>>;

/**
 * Returns the SQL statements that create the table of an outbox, if the table is missing. Put these statements into a migration.
 *
 * @param table name of the table, the same as in the option `table` of OutboxModule. Default `luanest_outbox`
 * @throws InvalidOptionError for an invalid name
 */
export function outboxTableSql(table = 'luanest_outbox'): string {
  const name = checkTable(new Checks('outboxTableSql'), table).split('.').at(-1) as string;
  return `CREATE TABLE IF NOT EXISTS ${quoted(table)} (
  seq bigserial PRIMARY KEY,
  id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('task', 'message')),
  target text NOT NULL,
  payload text NOT NULL,
  options text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  first_sent_at timestamptz,
  failed_at timestamptz,
  error text
);
CREATE INDEX IF NOT EXISTS "${name}_waiting" ON ${quoted(table)} (seq) WHERE failed_at IS NULL;
`;
}

function quoted(table: string): string {
  return table
    .split('.')
    .map((part) => `"${part}"`)
    .join('.');
}

/** Runs the SQL statements on the outbox table. See DECISIONS.md: only-text-in-sql */
export class OutboxTable {
  private readonly name: string;

  constructor(table: string) {
    this.name = quoted(table);
  }

  async insert(query: SqlQuery, { id, kind, target, payload, options }: NewRow): Promise<void> {
    await query(
      `INSERT INTO ${this.name} (id, kind, target, payload, options) VALUES ($1::text::uuid, $2::text, $3::text, $4::text, $5::text)`,
      [id, kind, target, payload, options],
    );
  }

  /**
   * Takes the lock of the table until the transaction ends. Does not take it if no row must be sent, or if another process has the lock.
   * Returns true if it has taken the lock.
   *
   * @param paused targets whose rows do not count, as `kind:target`
   */
  async lock(query: SqlQuery, paused: readonly string[]): Promise<boolean> {
    const rows = await read(
      query,
      `SELECT CASE WHEN EXISTS (SELECT FROM ${this.name} WHERE failed_at IS NULL AND ${NOT_PAUSED}) THEN
         pg_try_advisory_xact_lock(${LOCK}, $2::text::regclass::oid::int)::text END AS locked, ${LIMITED}`,
      [JSON.stringify(paused), this.name],
    );
    return rows[0]?.locked === 'true';
  }

  /** Makes PostgreSQL end the transaction after a minute without a statement. */
  async limit(query: SqlQuery): Promise<void> {
    await query(`SELECT ${LIMITED}`, []);
  }

  /**
   * Returns the next rows to send, in order, and stores the time of sending as a mark in `first_sent_at` of those that were never sent.
   *
   * A row that has a mark was sent before, maybe by another process that is still alive. So its mark is changed by a microsecond. In
   * `settle`, that process then finds a mark that is not its own, and does not remove it.
   *
   * @returns `mark` is the time that was stored, for `settle`
   */
  async mark(
    query: SqlQuery,
    paused: readonly string[],
    batch: number,
  ): Promise<{ readonly rows: readonly MarkedRow[]; readonly mark: string }> {
    const rows = await read(
      query,
      `WITH batch AS (
         SELECT * FROM ${this.name} WHERE failed_at IS NULL AND ${NOT_PAUSED} ORDER BY seq LIMIT $2::text::int
       ), marked AS (
         UPDATE ${this.name} AS r SET first_sent_at = coalesce(r.first_sent_at - interval '1 microsecond', now())
         FROM batch WHERE r.seq = batch.seq
       )
       SELECT seq::text AS seq, id::text AS id, kind, target, payload, options, now()::text AS mark,
         ${MS('clock_timestamp() - created_at')} AS age_ms, ${MS('now() - first_sent_at')} AS sent_ms
       FROM batch ORDER BY batch.seq`,
      [JSON.stringify(paused), String(batch)],
    );
    const marked = rows.map((row) => ({
      ...newRow(row),
      seq: String(row.seq),
      ageMs: Number(row.age_ms),
      sentMs: numberOf(row.sent_ms),
    }));
    return { rows: marked, mark: String(rows[0]?.mark) };
  }

  /**
   * Deletes the rows that were sent, sets aside those that failed, and removes the marks of rows that certainly had no effect.
   *
   * @param mark the time that `mark` has returned
   */
  async settle(query: SqlQuery, { sent, failed, unsent }: Outcomes, mark: string): Promise<void> {
    const seqs = (rows: readonly MarkedRow[]): string => JSON.stringify(rows.map(({ seq }) => seq));
    if (sent.length > 0) await query(`DELETE FROM ${this.name} WHERE seq IN (${LIST}::bigint)`, [seqs(sent)]);
    if (failed.length > 0) {
      await query(
        `UPDATE ${this.name} AS r SET failed_at = clock_timestamp(), error = f.error
         FROM json_to_recordset($1::text::json) AS f (seq bigint, error text) WHERE r.seq = f.seq`,
        [JSON.stringify(failed.map(({ row, error }) => ({ seq: row.seq, error })))],
      );
    }
    if (unsent.length > 0) {
      // If this process has lost its connection, it has lost the lock, and another process may have sent the row. The mark of the row then
      // differs, and stays.
      await query(
        `UPDATE ${this.name} SET first_sent_at = NULL WHERE seq IN (${LIST}::bigint) AND first_sent_at = $2::text::timestamptz`,
        [seqs(unsent), mark],
      );
    }
  }

  async stats(query: SqlQuery): Promise<OutboxStats> {
    const [row = {}] = await read(
      query,
      `SELECT (count(*) FILTER (WHERE ${STATES.waiting}))::text AS waiting,
         ${MS(`clock_timestamp() - min(created_at) FILTER (WHERE ${STATES.waiting})`)} AS oldest_ms,
         (count(*) FILTER (WHERE ${STATES.failed}))::text AS failed,
         (count(*) FILTER (WHERE ${STATES.undecided}))::text AS undecided
       FROM ${this.name}`,
      [],
    );
    const { waiting, oldest_ms: oldest, failed, undecided } = row;
    return {
      waiting: Number(waiting),
      oldestMs: numberOf(oldest),
      failed: Number(failed),
      undecided: Number(undecided),
    };
  }

  async list(
    query: SqlQuery,
    options: { readonly state: RowState; readonly limit?: number; readonly cursor?: string },
  ): Promise<Page<OutboxRow>> {
    const {
      state,
      limit = 100,
      cursor = '0',
    } = outboxInput.options('', options, { state: true, limit: true, cursor: true });
    outboxInput.choice('state', state, Object.keys(STATES) as RowState[]);
    outboxInput.integer('limit', limit, 1, 1_000);
    outboxInput.text('cursor', cursor, /^\d{1,18}$/, 'the nextCursor of the page before');
    const rows = await read(
      query,
      `SELECT seq::text AS seq, id::text AS id, kind, target, payload, options, error, ${MS('created_at')} AS created,
         ${MS('first_sent_at')} AS sent, ${MS('failed_at')} AS failed
       FROM ${this.name} WHERE ${STATES[state]} AND seq > $1::text::bigint ORDER BY ${this.name}.seq LIMIT $2::text::int`,
      [cursor, String(limit + 1)],
    );
    const items = rows.slice(0, limit).map((row) => ({
      ...newRow(row),
      createdAtMs: Number(row.created),
      firstSentAtMs: numberOf(row.sent),
      failedAtMs: numberOf(row.failed),
      error: row.error ?? undefined,
    }));
    return rows.length > limit ? { items, nextCursor: String(rows[limit - 1]?.seq) } : { items };
  }

  /** Sends rows again that were set aside. @returns the number of these rows @throws InvalidInputError */
  retry(query: SqlQuery, ids: readonly string[]): Promise<number> {
    const change = `UPDATE ${this.name} SET first_sent_at = NULL, failed_at = NULL, error = NULL`;
    return changeFailed(query, change, ids);
  }

  /** Deletes rows that were set aside. @returns the number of these rows @throws InvalidInputError */
  drop(query: SqlQuery, ids: readonly string[]): Promise<number> {
    return changeFailed(query, `DELETE FROM ${this.name}`, ids);
  }
}

const LIST = 'SELECT json_array_elements_text($1::text::json)';
const NOT_PAUSED = `kind || ':' || target NOT IN (${LIST})`;
const STATES: Readonly<Record<RowState, string>> = {
  waiting: 'failed_at IS NULL',
  failed: `failed_at IS NOT NULL AND error NOT LIKE '${UNDECIDED}%'`,
  undecided: `failed_at IS NOT NULL AND error LIKE '${UNDECIDED}%'`,
};

/** Returns the SQL expression that converts a timestamp or an interval to ms, as text. */
function MS(sql: string): string {
  return `floor(extract(epoch FROM ${sql}) * 1000)::bigint::text`;
}

async function changeFailed(query: SqlQuery, change: string, ids: readonly string[]): Promise<number> {
  outboxInput.list('ids', ids, 'an array of ids of rows');
  ids.forEach((id, i) => outboxInput.text(`ids[${i}]`, id, UUID, 'the id of a row'));
  // TypeORM returns the result of an UPDATE in another form than other libraries, so the UPDATE is wrapped in a SELECT.
  const [row] = await read(
    query,
    `WITH changed AS (${change} WHERE failed_at IS NOT NULL AND id::text IN (${LIST}) RETURNING 1)
     SELECT count(*)::text AS count FROM changed`,
    [JSON.stringify(ids)],
  );
  return Number(row?.count);
}

/** Runs a SELECT. @throws SetupError if the query function returns no rows */
async function read(query: SqlQuery, sql: string, params: string[]): Promise<readonly Row[]> {
  const result = await query(sql, params);
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null | undefined)?.rows;
  if (Array.isArray(rows)) return rows as readonly Row[];
  throw new SetupError(
    `OutboxModule: The query function of the option database returned ${shown(result)}. Expected an array of rows, or an object ` +
      '{ rows } with such an array.',
  );
}

function newRow({ id, kind, target, payload, options }: Row): NewRow {
  return { id, kind, target, payload, options } as NewRow;
}

function numberOf(text: string | null | undefined): number | undefined {
  return text === null || text === undefined ? undefined : Number(text);
}
