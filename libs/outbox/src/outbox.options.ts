import { Checks, type KnownOptions } from '../../internal/src';
import type { OutboxDatabase } from './outbox.types';

/** Options of OutboxModule. */
export interface OutboxModuleOptions {
  /** The app's database. */
  readonly database: OutboxDatabase;
  /**
   * Name of the SQL table in which the rows wait, with or without its schema, such as `shop.outbox`. The names of the table and of the
   * schema begin with a letter or `_`, have up to 50 letters, digits and `_`, and are case-sensitive. Default `luanest_outbox`.
   */
  readonly table?: string;
  /** True if this process sends the rows of the table to Redis. Default true. */
  readonly relay?: boolean;
  /** Pause between two queries for new rows, ms; integer from 10 to 2^31 - 1. Default 500. */
  readonly pollMs?: number;
  /** Maximum number of rows that are read and sent together; integer from 1 to 1,000. Default 100. */
  readonly batch?: number;
  /** Longest time that a shutdown waits for the rows that are being sent, ms; integer from 0 to 2^31 - 1. Default 10,000. */
  readonly drainMs?: number;
}

export type ResolvedOutboxOptions = Readonly<Required<OutboxModuleOptions>>;

const KNOWN: KnownOptions<OutboxModuleOptions> = {
  database: true,
  table: true,
  relay: true,
  pollMs: true,
  batch: true,
  drainMs: true,
};
const TABLE = /^([A-Za-z_]\w{0,49}\.)?[A-Za-z_]\w{0,49}$/;

const checks = new Checks('OutboxModule');

/** Checks the name of a table. @throws InvalidOptionError */
export function checkTable(where: Checks, table: unknown): string {
  return where.text(
    'table',
    table,
    TABLE,
    'a name of letters, digits or "_", with or without a schema, such as "shop.outbox"',
  );
}

/** Checks the options and fills in the defaults. @throws InvalidOptionError */
export function resolveOptions(options: OutboxModuleOptions): ResolvedOutboxOptions {
  checks.options('', options, KNOWN);
  const { database, table = 'luanest_outbox', relay = true, pollMs = 500, batch = 100, drainMs = 10_000 } = options;
  if (typeof (database as Partial<OutboxDatabase> | null | undefined)?.transaction !== 'function') {
    checks.refuse('database', database, 'an object with the function transaction');
  }
  return Object.freeze({
    database,
    table: checkTable(checks, table),
    relay: checks.flag('relay', relay),
    pollMs: checks.integer('pollMs', pollMs, 10),
    batch: checks.integer('batch', batch, 1, 1_000),
    drainMs: checks.integer('drainMs', drainMs, 0),
  });
}
