import type { Packet } from 'luanest/red-packet';
import type {
  ActivityRow,
  Conflict,
  CreditResult,
  LedgerBook,
  LedgerTotals,
  PaidPage,
  PayoutRow,
  ReadableLedger,
  WrongAccount,
  WrongAccountsPage,
} from './ledger.types';
import {
  ACCOUNTS_ADD_UP,
  ADOPT_ACTIVITY,
  ADOPT_CONFLICTS,
  ADOPT_PAYOUTS,
  FIND_PAID_USERS,
  FIND_PAYOUTS,
  INSERT_PAYOUTS,
  LOCK_ACTIVITIES,
  NOTE_ACTIVITY,
  PAYOUTS,
  RAISE_BALANCES,
  RECORD_CONFLICTS,
  TOTALS,
  WRONG_ACCOUNTS,
  WRONG_ACCOUNTS_OF,
} from './ledger-queries';
import { safeInteger, type SqlDatabase, type SqlRow, type SqlSession } from './sql';

/** Maximum number of wrong accounts that are named, of all users. */
const MOST_WRONG = 20;

// See DECISIONS.md: ledger-decides-what-is-paid
/** The ledger in SQL. Two UNIQUE keys, (activity key, packet) and (activity key, user), decide who is paid. */
export class SqlLedger implements ReadableLedger {
  constructor(private readonly database: SqlDatabase) {}

  async credit(rows: readonly PayoutRow[]): Promise<CreditResult> {
    if (rows.length === 0) return { credited: 0, repeated: 0, conflicts: [] };
    return this.database.transaction(async (session) => {
      await session.query(LOCK_ACTIVITIES, [[...new Set(rows.map((row) => row.activityId))]]);
      await session.query(ADOPT_PAYOUTS, payoutColumns(rows));
      const inserted = await session.query(INSERT_PAYOUTS, payoutColumns(rows));
      await raiseBalances(session, inserted);
      const fresh = new Set(inserted.map(fingerprint));
      // Of several equal new rows in one batch the first counts as credited, the others as repeated.
      const rest = rows.filter((row) => !fresh.delete(fingerprintOf(row)));
      const conflicts = await findConflicts(session, rest);
      return { credited: inserted.length, repeated: rest.length - conflicts.length, conflicts };
    });
  }

  async note({ activityKey, activityId, ...row }: ActivityRow): Promise<void> {
    const { fundedCents, refundedCents, createdAtMs, expiresAtMs } = row;
    await this.database.transaction(async (session) => {
      await session.query(LOCK_ACTIVITIES, [[activityId]]);
      await session.query(NOTE_ACTIVITY, [
        activityKey,
        activityId,
        fundedCents,
        refundedCents,
        createdAtMs,
        expiresAtMs,
      ]);
      for (const adopt of [ADOPT_ACTIVITY, ADOPT_CONFLICTS]) {
        await session.query(adopt, [activityKey, activityId, createdAtMs, expiresAtMs]);
      }
    });
  }

  async totals(activityKey: string): Promise<LedgerTotals> {
    const [row] = await this.database.query(TOTALS, [activityKey]);
    return {
      rows: safeInteger(row?.rows),
      users: safeInteger(row?.users),
      cents: safeInteger(row?.cents),
      conflicts: safeInteger(row?.conflicts),
      book: row?.book ? bookOf(row.book as SqlRow) : null,
    };
  }

  async payouts(activityKey: string, after: string, limit: number): Promise<PaidPage> {
    const rows = await this.database.query(PAYOUTS, [activityKey, after, limit]);
    const payouts = rows.map((row) => ({
      userId: String(row.user_id),
      packetId: String(row.packet_id),
      amountCents: safeInteger(row.amount_cents),
    }));
    return { payouts, next: rows.length < limit ? null : (payouts.at(-1)?.packetId ?? null) };
  }

  async wrongAccounts(): Promise<readonly WrongAccount[]> {
    const [sums] = await this.database.query(ACCOUNTS_ADD_UP);
    if (sums?.equal === true) return [];
    return (await this.database.query(WRONG_ACCOUNTS, [MOST_WRONG])).map(wrongAccountOf);
  }

  async wrongAccountsOf(activityKey: string, after: string, limit: number): Promise<WrongAccountsPage> {
    const { payouts, next } = await this.payouts(activityKey, after, limit);
    const rows = await this.database.query(WRONG_ACCOUNTS_OF, [payouts.map(({ userId }) => userId)]);
    return { wrong: rows.map(wrongAccountOf), next };
  }

  async balance(userId: string): Promise<number> {
    const [row] = await this.database.query('SELECT balance_cents FROM luanest.accounts WHERE user_id = $1', [userId]);
    return row === undefined ? 0 : safeInteger(row.balance_cents);
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

function wrongAccountOf(row: SqlRow): WrongAccount {
  const balanceCents = row.balance_cents as string | null;
  return { userId: String(row.user_id), balanceCents, paidCents: String(row.paid_cents) };
}

function bookOf(row: SqlRow): LedgerBook {
  return {
    fundedCents: safeInteger(row.funded_cents),
    paidCents: safeInteger(row.paid_cents),
    refundedCents: safeInteger(row.refunded_cents),
    owedCents: safeInteger(row.owed_cents),
  };
}

function payoutColumns(rows: readonly PayoutRow[]): (readonly string[] | readonly number[])[] {
  return [
    rows.map((row) => row.activityKey),
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
  const booked = await session.query(FIND_PAYOUTS, [
    rest.map((row) => row.activityKey),
    rest.map((row) => row.packetId),
  ]);
  const exact = new Set(booked.map(fingerprint));
  const packets = new Set(booked.map((row) => JSON.stringify([row.activity_key, row.packet_id])));
  const refused = rest.filter((row) => !exact.has(fingerprintOf(row)));
  const paid = await findPaid(session, refused);
  const conflicts = refused.map((row): Conflict => {
    if (packets.has(JSON.stringify([row.activityKey, row.packetId]))) return { row, reason: 'packet' };
    const packet = paid.get(JSON.stringify([row.activityKey, row.userId]));
    return { row, reason: 'user', ...(packet && { paid: packet }) };
  });
  if (conflicts.length > 0) {
    const columns = payoutColumns(conflicts.map(({ row }) => row));
    await session.query(RECORD_CONFLICTS, [...columns, conflicts.map(({ reason }) => reason)]);
  }
  return conflicts;
}

/** Reads the packets that the users of these rows were paid. The map's keys are JSON of activity key and user. */
async function findPaid(session: SqlSession, rows: readonly PayoutRow[]): Promise<Map<string, Packet>> {
  if (rows.length === 0) return new Map();
  const asked = [rows.map((row) => row.activityKey), rows.map((row) => row.userId)];
  const found = await session.query(FIND_PAID_USERS, asked);
  return new Map(
    found.map((row) => [
      JSON.stringify([row.activity_key, row.user_id]),
      {
        packetId: String(row.packet_id),
        amountCents: safeInteger(row.amount_cents),
        grantedAtMs: safeInteger(row.granted_ms),
      },
    ]),
  );
}

function fingerprint(row: SqlRow): string {
  return JSON.stringify([row.activity_key, row.packet_id, row.user_id, safeInteger(row.amount_cents)]);
}

function fingerprintOf(row: PayoutRow): string {
  return JSON.stringify([row.activityKey, row.packetId, row.userId, row.amountCents]);
}
