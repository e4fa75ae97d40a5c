/** A value that a query may carry; lists become SQL arrays. */
export type SqlValue = string | number | readonly string[] | readonly number[];

/** A row as the driver returns it. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs one statement with `$1`-style parameters. */
export interface SqlSession {
  query(text: string, params?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Runs several statements without parameters, with semicolons between them. */
  script(text: string): Promise<void>;
}

/** Port of the ledger to PostgreSQL, embedded or not. */
export interface SqlDatabase extends SqlSession {
  /**
   * Runs `work` in one READ COMMITTED transaction: committed when the promise resolves; rolled back when `work` rejects.
   */
  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * Converts a BIGINT to a number. Drivers return a BIGINT as string, number or bigint.
 *
 * @throws {RangeError} if the value is not an integer from -(2^53 - 1) to 2^53 - 1
 */
export function safeInteger(value: unknown): number {
  const parsed = typeof value === 'string' || typeof value === 'bigint' ? Number(value) : value;
  if (typeof parsed === 'number' && Number.isSafeInteger(parsed)) return parsed;
  throw new RangeError(`The database returned ${String(value)}. Expected an integer between -2^53 and 2^53.`);
}
