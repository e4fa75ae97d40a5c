import type { ScheduleOptions } from 'luanest/delayed-task';
import type { PublishOptions } from 'luanest/stream-consumer';

/**
 * Function that runs one SQL statement with parameters `$1`, `$2`, ... in a transaction of PostgreSQL. It resolves with an array of
 * rows, or with an object that has the array `rows`, as drivers and ORMs do.
 */
export type SqlQuery = (sql: string, params: string[]) => Promise<unknown>;

/** Access to the app's PostgreSQL database, for sending the rows of the outbox, and for `stats`, `list`, `retry` and `drop`. */
export interface OutboxDatabase {
  /**
   * Runs `work` in a new transaction on a connection of its own. Commits when the promise of `work` resolves, rolls back when it rejects,
   * and returns the result of `work`. Use the isolation level READ COMMITTED; at a stricter level, transactions may fail, and are then
   * repeated. Sending rows takes two connections at the same time.
   */
  transaction<T>(work: (query: SqlQuery) => Promise<T>): Promise<T>;
}

interface Retention {
  /**
   * How long Redis remembers that the row was sent, ms; integer from 60,000 to 2^31 - 1; default 1 day. While it is unknown if the row took
   * effect, the row is sent again, but only during the first half of this time.
   */
  readonly operationRetentionMs?: number;
}

/** Options of `OutboxService.schedule`. `delayMs` is counted from that call, by the clock of the database. */
export type OutboxTaskOptions = Omit<ScheduleOptions, 'operationId' | 'operationRetentionMs'> & Retention;

/** Options of `OutboxService.publish`. */
export type OutboxMessageOptions = Omit<PublishOptions, 'operationId' | 'operationRetentionMs'> & Retention;

/** A row of the outbox table: a task or a message that waits to be sent, or was set aside. */
export interface OutboxRow {
  readonly id: string;
  readonly kind: 'task' | 'message';
  /** Queue and name of the task, as `queue/name`, or the name of the stream. */
  readonly target: string;
  /** Payload as JSON. */
  readonly payload: string;
  /** Options of the task or message, as JSON. */
  readonly options: string;
  /** When the row was written. All times of a row are ms since 1970 by the clock of the database. */
  readonly createdAtMs: number;
  /** When the row was first sent; undefined if it was not sent, or if sending it certainly had no effect. */
  readonly firstSentAtMs: number | undefined;
  /** When the row was set aside; undefined if it waits to be sent. */
  readonly failedAtMs: number | undefined;
  /** Code and text of the error because of which the row was set aside; undefined if it waits to be sent. */
  readonly error: string | undefined;
}

/** Numbers of rows of the outbox, by state. */
export interface OutboxStats {
  /** Number of rows that wait to be sent. */
  readonly waiting: number;
  /** Age of the oldest waiting row, ms; undefined if no row waits. */
  readonly oldestMs: number | undefined;
  /** Number of rows that were refused. They stay in the table, and are not sent again until you call `retry`. */
  readonly failed: number;
  /** Number of rows for which it is unknown whether they took effect. They are not sent again until you call `retry`. */
  readonly undecided: number;
}
