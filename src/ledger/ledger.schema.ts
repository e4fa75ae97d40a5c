import type { SqlDatabase } from './sql';

const STATEMENTS = [
  'CREATE SCHEMA IF NOT EXISTS luanest',
  `CREATE TABLE IF NOT EXISTS luanest.payouts (
     activity_id  text        NOT NULL,
     packet_id    text        NOT NULL,
     user_id      text        NOT NULL,
     amount_cents bigint      NOT NULL CHECK (amount_cents > 0),
     granted_at   timestamptz NOT NULL,
     paid_at      timestamptz NOT NULL DEFAULT now(),
     UNIQUE (activity_id, packet_id),
     UNIQUE (activity_id, user_id)
   )`,
  `CREATE TABLE IF NOT EXISTS luanest.accounts (
     user_id       text   PRIMARY KEY,
     balance_cents bigint NOT NULL CHECK (balance_cents > 0)
   )`,
  `CREATE TABLE IF NOT EXISTS luanest.payout_conflicts (
     activity_id  text        NOT NULL,
     packet_id    text        NOT NULL,
     user_id      text        NOT NULL,
     amount_cents bigint      NOT NULL,
     granted_at   timestamptz NOT NULL,
     reason       text        NOT NULL CHECK (reason IN ('packet', 'user')),
     seen_at      timestamptz NOT NULL DEFAULT now(),
     UNIQUE (activity_id, packet_id, user_id, amount_cents)
   )`,
];

/** Makes the ledger's tables where they are missing; safe when several processes do it at once. */
export async function createLedgerSchema(database: SqlDatabase): Promise<void> {
  await database.transaction(async (session) => {
    // IF NOT EXISTS alone fails on a unique index of the catalogue when two sessions create at once.
    await session.query(`SELECT pg_advisory_xact_lock(hashtextextended('luanest.ledger.schema', 0))`);
    for (const statement of STATEMENTS) await session.query(statement);
  });
}
