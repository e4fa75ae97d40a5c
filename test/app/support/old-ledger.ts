import type { SqlDatabase } from '../../../src/ledger/sql';

const STATEMENTS = [
  'CREATE SCHEMA luanest',
  `CREATE TABLE luanest.payouts (
     activity_id  text        NOT NULL,
     packet_id    text        NOT NULL,
     user_id      text        NOT NULL,
     amount_cents bigint      NOT NULL CHECK (amount_cents > 0),
     granted_at   timestamptz NOT NULL,
     paid_at      timestamptz NOT NULL DEFAULT now(),
     UNIQUE (activity_id, packet_id),
     UNIQUE (activity_id, user_id)
   )`,
  `CREATE TABLE luanest.accounts (
     user_id       text   PRIMARY KEY,
     balance_cents bigint NOT NULL CHECK (balance_cents > 0)
   )`,
  `CREATE TABLE luanest.payout_conflicts (
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

/** Makes the tables of a ledger from before there were migrations. */
export async function createOldLedger(database: SqlDatabase): Promise<void> {
  await database.transaction(async (session) => {
    for (const statement of STATEMENTS) await session.query(statement);
  });
}
