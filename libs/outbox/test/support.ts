import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DelayedTaskService, type DelayedTaskModuleOptions } from 'luanest/delayed-task';
import { OutboxService, outboxTableSql, type OutboxModuleOptions, type SqlQuery } from 'luanest/outbox';
import type { ScriptRegistry, ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { StreamConsumerService } from 'luanest/stream-consumer';
import { Pool, type PoolClient } from 'pg';
import { INSPECT } from '../../internal/src';
import { PostgresServer } from '../../../test/app/support/postgres-server';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { resolveOptions as resolveTasks } from '../../delayed-task/src/delayed-task.options';
import { delayedTaskScripts } from '../../delayed-task/src/delayed-task.scripts';
import { openRegistry, standaloneClient } from '../../script-registry/test/support';
import { streamConsumerScripts } from '../../stream-consumer/src/stream-consumer.scripts';
import { resolveOptions } from '../src/outbox.options';

Logger.overrideLogger(false);

export type Database = OutboxModuleOptions['database'];
interface Result {
  readonly command: string;
  readonly rows: unknown[];
  readonly rowCount: number | null;
}

/** Runs `work` in a transaction of pg. */
async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    await client.query('ROLLBACK').then(
      () => client.release(),
      () => client.release(true),
    );
    throw error;
  }
}

export function pgDatabase(pool: Pool): Database {
  return { transaction: (work) => inTransaction(pool, (client) => work((sql, params) => client.query(sql, params))) };
}

/** Runs a statement on a connection, and returns what pg returns. */
async function run(client: PoolClient, sql: string, params: unknown[]): Promise<Result> {
  return await client.query(sql, params);
}

/**
 * The databases of the README over pg, with the calls and the results of Prisma, TypeORM and Drizzle, which are not installed here:
 * `$transaction` and `$queryRawUnsafe` with parameters one by one; `query`, which returns `[rows, count]` for UPDATE and DELETE; `execute`
 * of chunks of SQL and values.
 */
export const databases: Readonly<Record<string, (pool: Pool) => Database>> = {
  pg: pgDatabase,
  Prisma: (pool) => {
    const prisma = {
      $transaction: <T>(
        work: (tx: { $queryRawUnsafe(sql: string, ...values: unknown[]): Promise<unknown> }) => Promise<T>,
      ) =>
        inTransaction(pool, (client) =>
          work({ $queryRawUnsafe: async (sql, ...values) => (await run(client, sql, values)).rows }),
        ),
    };
    return {
      transaction: (work) => prisma.$transaction((tx) => work((sql, params) => tx.$queryRawUnsafe(sql, ...params))),
    };
  },
  TypeORM: (pool) => {
    const dataSource = {
      transaction: <T>(work: (manager: { query(sql: string, values?: unknown[]): Promise<unknown> }) => Promise<T>) =>
        inTransaction(pool, (client) =>
          work({
            query: async (sql, values = []) => {
              const { command, rows, rowCount } = await run(client, sql, values);
              return command === 'UPDATE' || command === 'DELETE' ? [rows, rowCount] : rows;
            },
          }),
        ),
    };
    return {
      transaction: (work) => dataSource.transaction((manager) => work((sql, params) => manager.query(sql, params))),
    };
  },
  Drizzle: (pool) => {
    type Chunk = { readonly raw: string } | { readonly value: unknown };
    const db = {
      transaction: <T>(work: (tx: { execute(chunks: readonly Chunk[]): Promise<unknown> }) => Promise<T>) =>
        inTransaction(pool, (client) =>
          work({
            execute: (chunks) => {
              const values: unknown[] = [];
              const sql = chunks.map((chunk) => ('raw' in chunk ? chunk.raw : `$${values.push(chunk.value)}`)).join('');
              return run(client, sql, values);
            },
          }),
        ),
    };
    const chunksOf = (text: string, params: string[]): Chunk[] =>
      text.split(/\$(\d+)/).map((part, i) => (i % 2 === 0 ? { raw: part } : { value: params[Number(part) - 1] }));
    return {
      transaction: (work) => db.transaction((tx) => work((text, params) => tx.execute(chunksOf(text, params)))),
    };
  },
};

/** A PostgreSQL server, and a pool of connections to it. */
export async function openPostgres(): Promise<{ readonly url: string; readonly pool: Pool; stop(): Promise<void> }> {
  const server = await PostgresServer.start();
  const pool = new Pool({ connectionString: server.url, max: 20 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    url: server.url,
    pool,
    stop: async () => {
      await pool.end();
      await server.stop();
    },
  };
}

export interface Bench {
  readonly registry: ScriptRegistry;
  readonly raw: Redis;
  readonly tasks: DelayedTaskService;
  readonly streams: StreamConsumerService;
  readonly outbox: OutboxService;
  readonly database: Database;
  readonly table: string;
  /** `operationId`s of the messages that this process published, in the order of the calls. */
  readonly published: string[];
  query: SqlQuery;
  close(): Promise<void>;
}

export interface BenchOptions extends Partial<OutboxModuleOptions> {
  readonly pool: Pool;
  readonly prefix?: string;
  readonly client?: Redis;
  readonly tasks?: DelayedTaskModuleOptions;
  readonly registry?: ScriptRegistryModuleOptions;
}

let tables = 0;

/** Makes the services on a Redis and a table of their own, outside Nest. */
export async function openBench({
  pool,
  prefix = uniquePrefix(),
  client = standaloneClient(),
  tasks: ofTasks = {},
  ...given
}: BenchOptions): Promise<Bench> {
  const {
    registry: ofRegistry,
    table = `t${process.pid}_${++tables}`,
    database = pgDatabase(pool),
    ...options
  } = given;
  const registry = await openRegistry(client, { ...ofRegistry, prefix }, [
    ...delayedTaskScripts,
    ...streamConsumerScripts,
  ]);
  const tasks = new DelayedTaskService(registry, resolveTasks(ofTasks));
  const streams = new StreamConsumerService(registry);
  await pool.query(outboxTableSql(table));
  const outbox = new OutboxService(resolveOptions({ pollMs: 20, ...options, database, table }), tasks, streams);
  const published: string[] = [];
  streams[INSPECT]().watch((_, { operationId = '' }) => published.push(operationId));
  let closing: Promise<void> | undefined;
  return {
    registry,
    raw: client,
    tasks,
    streams,
    outbox,
    database,
    table,
    published,
    query: (sql, params) => pool.query(sql, params),
    close: () =>
      (closing ??= (async () => {
        await outbox.beforeApplicationShutdown();
        await Promise.all([tasks.beforeApplicationShutdown(), streams.beforeApplicationShutdown()]);
        registry.close();
        client.disconnect();
      })()),
  };
}
