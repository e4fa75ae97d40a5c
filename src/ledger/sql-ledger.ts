import type { Packet } from 'luanest/red-packet';
import type { Conflict, CreditResult, LedgerTotals, PaidPage, PayoutRow, ReadableLedger } from './ledger.types';
import { safeInteger, type SqlDatabase, type SqlRow, type SqlSession } from './sql';

/**
 * Sessions that book the same activity take turns. Sorting the rows is not enough: with two UNIQUE keys a pair of
 * contradicting batches can still wait for each other. Sorted by the lock's number, since two activities may share it.
 */
const LOCK_ACTIVITIES = `
  SELECT pg_advisory_xact_lock(locks.key) FROM (
    SELECT DISTINCT hashtextextended(activity_id, 1) AS key FROM unnest($1::text[]) AS activity_id ORDER BY key
  ) AS locks`;

const INSERT_PAYOUTS = `
  INSERT INTO luanest.payouts (activity_id, packet_id, user_id, amount_cents, granted_at)
  SELECT activity_id, packet_id, user_id, amount_cents, to_timestamp(granted_ms / 1000.0)
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    WITH ORDINALITY AS input (activity_id, packet_id, user_id, amount_cents, granted_ms, place)
  ORDER BY place
  ON CONFLICT DO NOTHING
  RETURNING activity_id, packet_id, user_id, amount_cents`;

const RAISE_BALANCES = `
  INSERT INTO luanest.accounts AS account (user_id, balance_cents)
  SELECT user_id, sum(cents)::bigint FROM unnest($1::text[], $2::bigint[]) AS input (user_id, cents)
  GROUP BY user_id ORDER BY user_id
  ON CONFLICT (user_id) DO UPDATE SET balance_cents = account.balance_cents + EXCLUDED.balance_cents`;

const FIND_PAYOUTS = `
  SELECT DISTINCT payout.activity_id, payout.packet_id, payout.user_id, payout.amount_cents
  FROM unnest($1::text[], $2::text[]) AS input (activity_id, packet_id)
  JOIN luanest.payouts AS payout USING (activity_id, packet_id)`;

const FIND_PAID_USERS = `
  SELECT payout.activity_id, payout.user_id, payout.packet_id, payout.amount_cents,
    round(extract(epoch FROM payout.granted_at) * 1000)::bigint AS granted_ms
  FROM (SELECT DISTINCT activity_id, user_id FROM unnest($1::text[], $2::text[]) AS input (activity_id, user_id)) AS asked
  JOIN luanest.payouts AS payout USING (activity_id, user_id)`;

const RECORD_CONFLICTS = `
  INSERT INTO luanest.payout_conflicts (activity_id, packet_id, user_id, amount_cents, granted_at, reason)
  SELECT activity_id, packet_id, user_id, amount_cents, to_timestamp(granted_ms / 1000.0), reason
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
    AS input (activity_id, packet_id, user_id, amount_cents, granted_ms, reason)
  ON CONFLICT DO NOTHING`;

const TOTALS = `
  SELECT count(*) AS rows, count(DISTINCT user_id) AS users, coalesce(sum(amount_cents), 0)::bigint AS cents,
    (SELECT count(*) FROM luanest.payout_conflicts WHERE activity_id = $1) AS conflicts
  FROM luanest.payouts WHERE activity_id = $1`;

const PAYOUTS = `
  SELECT packet_id, user_id, amount_cents FROM luanest.payouts
  WHERE activity_id = $1 AND packet_id > $2 ORDER BY packet_id LIMIT $3`;

/** The ledger in SQL: two UNIQUE keys are the last word on who was paid. */
export class SqlLedger implements ReadableLedger {
  constructor(private readonly database: SqlDatabase) {}

  /** See {@link Ledger.credit}. */
  async credit(rows: readonly PayoutRow[]): Promise<CreditResult> {
    if (rows.length === 0) return { credited: 0, repeated: 0, conflicts: [] };
    return this.database.transaction(async (session) => {
      await session.query(LOCK_ACTIVITIES, [[...new Set(rows.map((row) => row.activityId))]]);
      const inserted = await session.query(INSERT_PAYOUTS, payoutColumns(rows));
      await raiseBalances(session, inserted);
      const fresh = new Set(inserted.map(fingerprint));
      // Of several equal rows in one batch the first counts as credited, the others as repeated.
      const rest = rows.filter((row) => !fresh.delete(fingerprintOf(row)));
      const conflicts = await findConflicts(session, rest);
      return { credited: inserted.length, repeated: rest.length - conflicts.length, conflicts };
    });
  }

  /** See {@link Ledger.totals}. */
  async totals(activityId: string): Promise<LedgerTotals> {
    const [row] = await this.database.query(TOTALS, [activityId]);
    return {
      rows: safeInteger(row?.rows),
      users: safeInteger(row?.users),
      cents: safeInteger(row?.cents),
      conflicts: safeInteger(row?.conflicts),
    };
  }

  /** See {@link ReadableLedger.payouts}. */
  async payouts(activityId: string, after: string, limit: number): Promise<PaidPage> {
    const rows = await this.database.query(PAYOUTS, [activityId, after, limit]);
    const payouts = rows.map((row) => ({
      userId: String(row.user_id),
      packetId: String(row.packet_id),
      amountCents: safeInteger(row.amount_cents),
    }));
    return { payouts, next: rows.length < limit ? null : (payouts.at(-1)?.packetId ?? null) };
  }

  /** See {@link Ledger.balance}. */
  async balance(userId: string): Promise<number> {
    const [row] = await this.database.query('SELECT balance_cents FROM luanest.accounts WHERE user_id = $1', [userId]);
    return row === undefined ? 0 : safeInteger(row.balance_cents);
  }

  /** See {@link Ledger.close}. */
  close(): Promise<void> {
    return this.database.close();
  }
}

function payoutColumns(rows: readonly PayoutRow[]): (readonly string[] | readonly number[])[] {
  return [
    rows.map((row) => row.activityId),
    rows.map((row) => row.packetId),
    rows.map((row) => row.userId),
    rows.map((row) => row.amountCents),
    rows.map((row) => row.grantedAtMs),
  ];
}

async function raiseBalances(session: SqlSession, inserted: readonly SqlRow[]): Promise<void> {
  if (inserted.length === 0) return;
  const users = inserted.map((row) => String(row.user_id));
  const cents = inserted.map((row) => safeInteger(row.amount_cents));
  await session.query(RAISE_BALANCES, [users, cents]);
}

async function findConflicts(session: SqlSession, rest: readonly PayoutRow[]): Promise<Conflict[]> {
  if (rest.length === 0) return [];
  const booked = await session.query(FIND_PAYOUTS, payoutColumns(rest).slice(0, 2));
  const exact = new Set(booked.map(fingerprint));
  const packets = new Set(booked.map((row) => JSON.stringify([row.activity_id, row.packet_id])));
  const refused = rest.filter((row) => !exact.has(fingerprintOf(row)));
  const paid = await findPaid(session, refused);
  const conflicts = refused.map((row): Conflict => {
    if (packets.has(JSON.stringify([row.activityId, row.packetId]))) return { row, reason: 'packet' };
    const packet = paid.get(JSON.stringify([row.activityId, row.userId]));
    return { row, reason: 'user', ...(packet && { paid: packet }) };
  });
  if (conflicts.length > 0) {
    const columns = payoutColumns(conflicts.map(({ row }) => row));
    await session.query(RECORD_CONFLICTS, [...columns, conflicts.map(({ reason }) => reason)]);
  }
  return conflicts;
}

/** What users were paid, by activity and user. */
async function findPaid(session: SqlSession, rows: readonly PayoutRow[]): Promise<Map<string, Packet>> {
  if (rows.length === 0) return new Map();
  const asked = [rows.map((row) => row.activityId), rows.map((row) => row.userId)];
  const found = await session.query(FIND_PAID_USERS, asked);
  return new Map(
    found.map((row) => [
      JSON.stringify([row.activity_id, row.user_id]),
      {
        packetId: String(row.packet_id),
        amountCents: safeInteger(row.amount_cents),
        grantedAtMs: safeInteger(row.granted_ms),
      },
    ]),
  );
}

function fingerprint(row: SqlRow): string {
  return JSON.stringify([row.activity_id, row.packet_id, row.user_id, safeInteger(row.amount_cents)]);
}

function fingerprintOf(row: PayoutRow): string {
  return JSON.stringify([row.activityId, row.packetId, row.userId, row.amountCents]);
}
