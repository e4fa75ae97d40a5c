import type { ScheduleOptions } from 'luanest/delayed-task';
import type { PublishOptions } from 'luanest/stream-consumer';

/**
 * Runs one statement with parameters `$1`, `$2`, ... in a transaction of PostgreSQL. The result is an array of rows, or an object with
 * the array `rows`, as drivers and ORMs return them.
 */
export type SqlQuery = (sql: string, params: string[]) => Promise<unknown>;

/** The app's database, for the relay and for the operator's calls. */
export interface OutboxDatabase {
  /**
   * Runs `work` in a new transaction on a connection of its own, at READ COMMITTED; at a stricter level, rounds may fail
   * and are repeated. Commits when the promise of
   * `work` resolves, rolls back when it rejects, and settles with its outcome. A relay uses two at the same time.
   */
  transaction<T>(work: (query: SqlQuery) => Promise<T>): Promise<T>;
}

interface Retention {
  /**
   * How long Redis remembers that the row was sent, ms; integer from 60,000 to 2^31 - 1. The row is sent again only for half of this
   * time. Default 1 day.
   */
  readonly operationRetentionMs?: number;
}

/** Options of `schedule`. `delayMs` counts from the call, by the database's clock. */
export type OutboxTaskOptions = Omit<ScheduleOptions, 'operationId' | 'operationRetentionMs'> & Retention;

/** Options of `publish`. */
export type OutboxMessageOptions = Omit<PublishOptions, 'operationId' | 'operationRetentionMs'> & Retention;

/** A row of the outbox. */
export interface OutboxRow {
  readonly id: string;
  readonly kind: 'task' | 'message';
  /** Queue and name of the task, as `queue/name`, or the name of the stream. */
  readonly target: string;
  /** JSON text. */
  readonly payload: string;
  /** JSON text. */
  readonly options: string;
  /** Times by the database's clock, ms since 1970. */
  readonly createdAtMs: number;
  /** When the row was first sent; undefined if it certainly had no effect so far. */
  readonly firstSentAtMs: number | undefined;
  /** When the row was set aside; undefined while it waits. */
  readonly failedAtMs: number | undefined;
  /** Code and text of the error for which the row was set aside; undefined while it waits. */
  readonly error: string | undefined;
}

/** Numbers of the table. */
export interface OutboxStats {
  /** Rows that will be sent. */
  readonly waiting: number;
  /** Age of the oldest of them, ms; undefined if there are none. */
  readonly oldestMs: number | undefined;
  /** Rows that were refused, and set aside. */
  readonly failed: number;
  /** Rows of which nobody knows whether they took effect, and set aside. */
  readonly undecided: number;
}
