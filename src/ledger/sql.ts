/** A value that a query may carry; lists become SQL arrays. */
export type SqlValue = string | number | readonly string[] | readonly number[];

/** A row as the driver gives it. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs one statement with `$1`-style parameters. */
export interface SqlSession {
  query(text: string, params?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Runs several statements without parameters, with semicolons between them. */
  script(text: string): Promise<void>;
}

/** The little that the ledger asks of a PostgreSQL, embedded or not. */
export interface SqlDatabase extends SqlSession {
  /**
   * Runs `work` in one READ COMMITTED transaction: committed, and on disk, when the promise resolves; rolled back when
   * `work` rejects.
   */
  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  /** Closes all connections; later calls fail. */
  close(): Promise<void>;
}

/**
 * A BIGINT as a number. Drivers answer it as string, number or bigint.
 *
 * @throws {RangeError} when it is no integer that a number holds exactly
 */
export function safeInteger(value: unknown): number {
  const parsed = typeof value === 'string' || typeof value === 'bigint' ? Number(value) : value;
  if (typeof parsed === 'number' && Number.isSafeInteger(parsed)) return parsed;
  throw new RangeError(`The database answered ${String(value)}, which is no exact integer.`);
}
