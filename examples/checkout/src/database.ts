import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { outboxTableSql } from 'luanest/outbox';
import { Pool, type QueryResult } from 'pg';

type Query = (sql: string, params?: string[]) => Promise<QueryResult<Record<string, string>>>;

/** PostgreSQL, for the app and for the relay of the outbox. */
@Injectable()
export class Database implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Database.name);
  private readonly pool = new Pool({
    connectionString: process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres',
  });

  constructor() {
    // Without these two listeners, a connection that breaks would end the process.
    this.pool.on('error', ({ message }) => this.logger.warn(message));
    this.pool.on('connect', (client) => client.on('error', ({ message }) => this.logger.warn(message)));
  }

  /** Your migrations do this. Pods that start at the same time take turns. */
  async onModuleInit(): Promise<void> {
    await this.transaction(async (query) => {
      await query('SELECT pg_advisory_xact_lock(1)');
      await query('CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, email text, cents bigint, status text)');
      await query(outboxTableSql());
    });
  }

  readonly query: Query = (sql, params) => this.pool.query(sql, params);

  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work((sql, params) => client.query(sql, params));
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // A connection that cannot roll back is broken, and does not go back into the pool.
      await client.query('ROLLBACK').then(
        () => client.release(),
        () => client.release(true),
      );
      throw error;
    }
  }

  /** After the modules of luanest have ended their work. */
  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }
}
