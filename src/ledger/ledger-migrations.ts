import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Umzug } from 'umzug';
import type { SqlDatabase, SqlSession } from './sql';

const FOLDER = join(__dirname, 'migrations');

/**
 * Brings the ledger's tables up to date, in one transaction. Each file of `migrations/` runs once per database, in the order
 * of the names. Several processes may call this at the same time; they take turns.
 * See DECISIONS.md: migrations-in-one-transaction
 *
 * @throws {Error} the error of the database or of the files: either nothing or everything was changed; calling again is safe
 */
export async function migrateLedger(database: SqlDatabase): Promise<void> {
  await database.transaction(async (session) => {
    // Without this lock, CREATE ... IF NOT EXISTS may fail if two sessions create the same name at the same time.
    await session.query(`SELECT pg_advisory_xact_lock(hashtextextended('luanest.ledger.schema', 0))`);
    await session.query('CREATE SCHEMA IF NOT EXISTS luanest');
    await session.query(
      'CREATE TABLE IF NOT EXISTS luanest.migrations (name text PRIMARY KEY, run_at timestamptz NOT NULL DEFAULT now())',
    );
    await new Umzug({ migrations: migrationsOf(session), storage: storageIn(session), logger: undefined }).up();
  });
}

function migrationsOf(session: SqlSession): { name: string; up: () => Promise<void> }[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.sql'));
  return names.sort().map((name) => ({ name, up: () => session.script(readFileSync(join(FOLDER, name), 'utf8')) }));
}

/** Returns Umzug's storage for the names of finished migrations: a table of the ledger, written in the same transaction. */
function storageIn(session: SqlSession): {
  logMigration: (migration: { name: string }) => Promise<void>;
  unlogMigration: (migration: { name: string }) => Promise<void>;
  executed: () => Promise<string[]>;
} {
  return {
    logMigration: async ({ name }) =>
      void (await session.query('INSERT INTO luanest.migrations (name) VALUES ($1)', [name])),
    unlogMigration: async ({ name }) =>
      void (await session.query('DELETE FROM luanest.migrations WHERE name = $1', [name])),
    executed: async () => (await session.query('SELECT name FROM luanest.migrations')).map(({ name }) => String(name)),
  };
}
