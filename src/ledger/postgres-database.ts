import { Pool, type PoolClient } from 'pg';
import type { SqlDatabase, SqlRow, SqlSession, SqlValue } from './sql';

/** The SQL port over a PostgreSQL server, through a pool of at most 4 connections. */
export class PostgresDatabase implements SqlDatabase {
  private readonly pool: Pool;

  constructor(url: string) {
    this.pool = new Pool({ connectionString: url, max: 4, connectionTimeoutMillis: 5_000, query_timeout: 15_000 });
    // Without a listener, an idle connection that breaks would end the process. The pool replaces the connection.
    this.pool.on('error', () => undefined);
  }

  async query(text: string, params: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    return (await this.pool.query<SqlRow>(text, [...params])).rows;
  }

  async script(text: string): Promise<void> {
    await this.pool.query(text);
  }

  async transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let broken: Error | undefined;
    const onError = (error: Error): void => void (broken = error);
    client.on('error', onError);
    try {
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
      const result = await work(sessionOf(client));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((failure: Error) => (broken ??= failure));
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

function sessionOf(client: PoolClient): SqlSession {
  return {
    query: async (text, params = []) => (await client.query<SqlRow>(text, [...params])).rows,
    script: async (text) => void (await client.query(text)),
  };
}
