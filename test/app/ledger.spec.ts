import * as fc from 'fast-check';
import fs from 'node:fs';
import type { PayoutRow } from '../../src/ledger/ledger.types';
import { migrateLedger } from '../../src/ledger/ledger-migrations';
import { PgliteDatabase } from '../../src/ledger/pglite-database';
import { PostgresDatabase } from '../../src/ledger/postgres-database';
import { safeInteger, type SqlDatabase } from '../../src/ledger/sql';
import { SqlLedger } from '../../src/ledger/sql-ledger';
import { LONG, size } from '../support/size';
import { LedgerModel } from './support/ledger-model';
import { PostgresServer } from './support/postgres-server';
import { createOldLedger } from './support/old-ledger';
import { makeDataFolder, removeFolder } from './support/temp-folder';

// As the apps of other tests.
if (!LONG) jest.requireActual('./support/quick-wasm.cjs');

let entries = 0;

function row(activityId: string, packetId: string, userId: string, amountCents: number, life = 1): PayoutRow {
  entries += 1;
  return {
    activityId,
    activityKey: `${activityId}@${life}`,
    packetId,
    userId,
    amountCents,
    grantedAtMs: 1_700_000_000_000 + entries,
  };
}

/** Contract of the ledger, for each database. */
function contract(database: () => SqlDatabase): void {
  let activity = '';
  let user = '';
  beforeEach(() => {
    activity = `activity-${(entries += 1)}`;
    user = `user-${entries}-`;
  });
  const ledger = () => new SqlLedger(database());

  it('credits each row once and says which it knew', async () => {
    const rows = [row(activity, 'p1', `${user}a`, 150), row(activity, 'p2', `${user}b`, 250)];
    expect(await ledger().credit(rows)).toEqual({ credited: 2, repeated: 0, conflicts: [] });
    expect(await ledger().credit([...rows, row(activity, 'p3', `${user}c`, 1)])).toEqual({
      credited: 1,
      repeated: 2,
      conflicts: [],
    });
    expect(await ledger().totals(`${activity}@1`)).toEqual({
      rows: 3,
      users: 3,
      cents: 401,
      conflicts: 0,
      book: null,
    });
    expect(await ledger().balance(`${user}a`)).toBe(150);
  });

  it('keeps the books of both lives of an id that is used again', async () => {
    await ledger().credit([row(activity, 'p1', `${user}a`, 400)]);
    const again = [row(activity, 'p1', `${user}a`, 500, 2), row(activity, 'p2', `${user}b`, 700, 2)];
    expect(await ledger().credit(again)).toEqual({ credited: 2, repeated: 0, conflicts: [] });
    expect(await ledger().credit(again)).toEqual({ credited: 0, repeated: 2, conflicts: [] });
    expect(await ledger().totals(`${activity}@1`)).toMatchObject({ rows: 1, users: 1, cents: 400, conflicts: 0 });
    expect(await ledger().totals(`${activity}@2`)).toMatchObject({ rows: 2, users: 2, cents: 1_200, conflicts: 0 });
    expect(await ledger().balance(`${user}a`)).toBe(900);
  });

  it('keeps what an activity was funded with and what came back, for ever', async () => {
    const note = (life: number, fundedCents: number, refundedCents: number) =>
      ledger().note({
        activityKey: `${activity}@${life}`,
        activityId: activity,
        fundedCents,
        refundedCents,
        createdAtMs: life,
        expiresAtMs: life,
      });
    await note(1, 1_000, 0);
    await note(2, 2_000, 0);
    await ledger().credit([row(activity, 'p1', `${user}a`, 400), row(activity, 'p1', `${user}a`, 500, 2)]);
    await note(1, 1_000, 600);
    // One that is late changes nothing.
    await note(1, 1_000, 0);
    const books = await database().query(
      `SELECT activity_key, funded_cents, paid_cents, refunded_cents, owed_cents FROM luanest.books
       WHERE activity_id = $1 ORDER BY activity_key`,
      [activity],
    );
    expect(books.map((each) => Object.values(each).map(String))).toEqual([
      [`${activity}@1`, '1000', '400', '600', '0'],
      [`${activity}@2`, '2000', '500', '0', '1500'],
    ]);
    expect(await ledger().totals(`${activity}@1`)).toMatchObject({
      book: { fundedCents: 1_000, paidCents: 400, refundedCents: 600, owedCents: 0 },
    });
  });

  it('finds the accounts that differ from the payouts, among all users and among those of an activity', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => user + name) as [string, string, string];
    await ledger().credit([row(activity, 'p1', a, 150), row(activity, 'p2', b, 250), row(activity, 'p3', c, 350)]);
    await ledger().credit([row(`${activity}-other`, 'p1', a, 50)]);
    const key = `${activity}@1`;
    expect(await ledger().wrongAccounts()).toEqual([]);
    expect(await ledger().wrongAccountsOf(key, '', 10)).toEqual({ wrong: [], next: null });

    const move = (cents: number) =>
      database().query(
        `UPDATE luanest.accounts SET balance_cents = balance_cents + CASE user_id WHEN $1 THEN $3::bigint ELSE -$3::bigint END
         WHERE user_id IN ($1, $2)`,
        [a, c, cents],
      );
    await move(7);
    const wrong = [
      { userId: a, balanceCents: '207', paidCents: '200' },
      { userId: c, balanceCents: '343', paidCents: '350' },
    ];
    // The sums are equal.
    expect(await ledger().wrongAccounts()).toEqual([]);
    expect(await ledger().wrongAccountsOf(key, '', 10)).toEqual({ wrong, next: null });
    // A page at a time.
    expect(await ledger().wrongAccountsOf(key, '', 2)).toEqual({ wrong: [wrong[0]], next: 'p2' });
    expect(await ledger().wrongAccountsOf(key, 'p2', 2)).toEqual({ wrong: [wrong[1]], next: null });
    await move(-7);

    await database().query('DELETE FROM luanest.accounts WHERE user_id = $1', [b]);
    const gone = { userId: b, balanceCents: null, paidCents: '250' };
    expect(await ledger().wrongAccounts()).toEqual([gone]);
    expect(await ledger().wrongAccountsOf(key, '', 10)).toEqual({ wrong: [gone], next: null });
    await database().query('INSERT INTO luanest.accounts VALUES ($1, 250)', [b]);
    expect(await ledger().wrongAccounts()).toEqual([]);
  });

  it('takes repetitions within one batch, and an empty batch', async () => {
    const one = row(activity, 'p1', `${user}a`, 150);
    expect(await ledger().credit([one, one, one])).toEqual({ credited: 1, repeated: 2, conflicts: [] });
    expect(await ledger().balance(`${user}a`)).toBe(150);
    expect(await ledger().credit([])).toEqual({ credited: 0, repeated: 0, conflicts: [] });
  });

  it('never pays what contradicts the books, and records it once', async () => {
    const first = row(activity, 'p1', `${user}a`, 150);
    await ledger().credit([first]);
    const wrong = [
      row(activity, 'p1', `${user}b`, 150),
      row(activity, 'p1', `${user}a`, 151),
      row(activity, 'p2', `${user}a`, 150),
    ];
    const { packetId, amountCents, grantedAtMs } = first;
    const paid = { packetId, amountCents, grantedAtMs };
    const conflicts = wrong.map((refused, index) =>
      index < 2 ? { row: refused, reason: 'packet' } : { row: refused, reason: 'user', paid },
    );
    expect(await ledger().credit(wrong)).toEqual({ credited: 0, repeated: 0, conflicts });
    expect(await ledger().credit(wrong)).toEqual({ credited: 0, repeated: 0, conflicts });
    expect(await ledger().totals(`${activity}@1`)).toMatchObject({ rows: 1, users: 1, cents: 150, conflicts: 3 });
    expect(await ledger().balance(`${user}a`)).toBe(150);
    expect(await ledger().balance(`${user}b`)).toBe(0);
  });

  it('adds up one user over several activities, exactly up to 2^53 - 1', async () => {
    await ledger().credit([
      row(`${activity}x`, 'p1', `${user}a`, 2 ** 52),
      row(`${activity}y`, 'p1', `${user}a`, 2 ** 52 - 1),
    ]);
    expect(await ledger().balance(`${user}a`)).toBe(Number.MAX_SAFE_INTEGER);
    await ledger().credit([row(`${activity}z`, 'p1', `${user}a`, 1)]);
    await expect(ledger().balance(`${user}a`)).rejects.toThrow(RangeError);
  });

  it('books nothing of a batch that fails', async () => {
    const rows = [row(activity, 'p1', `${user}a`, 150), row(activity, 'p2', `${user}b`, 0)];
    await expect(ledger().credit(rows)).rejects.toThrow();
    expect(await ledger().totals(`${activity}@1`)).toMatchObject({ rows: 0, users: 0, cents: 0, conflicts: 0 });
    expect(await ledger().balance(`${user}a`)).toBe(0);
  });

  it('takes text that would break hand-made SQL or arrays', async () => {
    const nasty = [`${user}'); DROP TABLE luanest.payouts; --`, `${user}{"a",NULL}`, `${user}\\"`, `${user}红包`];
    const rows = nasty.map((name, index) => row(activity, name, name, index + 1));
    expect(await ledger().credit(rows)).toMatchObject({ credited: 4 });
    expect(await ledger().credit(rows)).toMatchObject({ repeated: 4 });
    for (const [index, name] of nasty.entries()) expect(await ledger().balance(name)).toBe(index + 1);
  });

  it('makes its tables again without harm', async () => {
    await Promise.all([migrateLedger(database()), migrateLedger(database()), migrateLedger(database())]);
  });

  it('agrees with a model under batches that overlap, repeat and contradict', async () => {
    const small = fc.record({
      packet: fc.integer({ min: 0, max: 7 }),
      user: fc.integer({ min: 0, max: 5 }),
      cents: fc.integer({ min: 1, max: 2 }),
    });
    const batches = fc.array(fc.array(small, { maxLength: 8 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(batches, async (plan) => {
        const id = `model-${(entries += 1)}`;
        const model = new LedgerModel();
        for (const batch of plan) {
          const rows = batch.map(({ packet, user: who, cents }) => row(id, `p${packet}`, `${id}-u${who}`, cents));
          const { credited, repeated, conflicts } = await ledger().credit(rows);
          expect({ credited, repeated, conflicts: conflicts.length }).toEqual(model.credit(rows));
        }
        const { rows, users, cents } = await ledger().totals(`${id}@1`);
        expect({ rows, users, cents }).toEqual(model.totals());
        for (const [userId, balance] of model.balances()) expect(await ledger().balance(userId)).toBe(balance);
      }),
      { numRuns: size(5, 40) },
    );
  });

  it('pays each packet once when workers race for contradicting batches', async () => {
    const users = Array.from({ length: 40 }, (_, index) => `${user}${index}`);
    // Each batch pairs packets and users differently, so that the two UNIQUE keys collide crosswise.
    const batches = Array.from({ length: 12 }, (_, turn) =>
      users.map((_name, index) => row(activity, `p${index}`, users[(index * 7 + turn) % 40] as string, 10)),
    );
    const results = await Promise.all(
      batches.map((batch, index) => ledger().credit(index % 2 === 0 ? batch : [...batch].reverse())),
    );
    const totals = await ledger().totals(`${activity}@1`);
    expect(totals.rows).toBe(totals.users);
    expect(totals.rows).toBe(results.reduce((sum, { credited }) => sum + credited, 0));
    const balances = await Promise.all(users.map((name) => ledger().balance(name)));
    expect(balances.reduce((sum, balance) => sum + balance, 0)).toBe(totals.cents);
    expect(balances.every((balance) => balance === 0 || balance === 10)).toBe(true);
  });
}

describe('ledger on PGlite', () => {
  let folder: string;
  let database: PgliteDatabase;
  beforeAll(async () => {
    folder = await makeDataFolder();
    database = await PgliteDatabase.open(`${folder}/ledger`);
    await migrateLedger(database);
  });
  afterAll(async () => {
    await database.close();
    await removeFolder(folder);
  });

  contract(() => database);

  it('has its write-ahead log synced to the disk when a credit resolves', async () => {
    const synced: string[] = [];
    const real = fs.fsyncSync;
    const spy = jest.spyOn(fs, 'fsyncSync').mockImplementation((fd) => {
      synced.push(fs.readlinkSync(`/proc/self/fd/${fd}`));
      real(fd);
    });
    try {
      await new SqlLedger(database).credit([row('synced', 'p1', 'somebody', 5)]);
    } finally {
      spy.mockRestore();
    }
    expect(synced).toContainEqual(expect.stringContaining('/pg_wal/'));
  });
});

describe('a ledger from before there were migrations', () => {
  let folder: string;
  beforeEach(async () => void (folder = await makeDataFolder()));
  afterEach(() => removeFolder(folder));

  it('keeps its payouts, pays none of them twice, and gives them the key of their life', async () => {
    const database = await PgliteDatabase.open(`${folder}/ledger`);
    try {
      await createOldLedger(database);
      await database.script(`
        INSERT INTO luanest.payouts (activity_id, packet_id, user_id, amount_cents, granted_at)
          SELECT 'old', 'p' || n, 'user-' || n, n * 100, to_timestamp((1000000 + n) / 1000.0) FROM generate_series(1, 3) AS n;
        INSERT INTO luanest.accounts SELECT 'user-' || n, n * 100 FROM generate_series(1, 3) AS n;
        INSERT INTO luanest.payout_conflicts VALUES ('old', 'p9', 'user-1', 5, to_timestamp(1000.009), 'user')`);
      await migrateLedger(database);
      await migrateLedger(database);
      const ledger = new SqlLedger(database);
      // Booked before the migration, but not settled: the outbox hands it out again.
      const open = { activityId: 'old', packetId: 'p2', userId: 'user-2', amountCents: 200, grantedAtMs: 1_000_002 };
      expect(await ledger.credit([{ ...open, activityKey: 'old@2000000' }])).toMatchObject({
        credited: 0,
        repeated: 1,
      });
      expect(await ledger.balance('user-2')).toBe(200);
      const life = { activityKey: 'old@2000000', activityId: 'old', createdAtMs: 1_000_000, expiresAtMs: 2_000_000 };
      for (let twice = 0; twice < 2; twice += 1) await ledger.note({ ...life, fundedCents: 900, refundedCents: 300 });
      expect(await ledger.totals('old@2000000')).toEqual({
        rows: 3,
        users: 3,
        cents: 600,
        conflicts: 1,
        book: { fundedCents: 900, paidCents: 600, refundedCents: 300, owedCents: 0 },
      });
    } finally {
      await database.close();
    }
  });
});

describe('ledger on PostgreSQL', () => {
  let server: PostgresServer;
  let database: PostgresDatabase;
  beforeAll(async () => {
    server = await PostgresServer.start();
    database = new PostgresDatabase(server.url);
    // Three processes that boot together.
    const others = [new PostgresDatabase(server.url), new PostgresDatabase(server.url)];
    await Promise.all([database, ...others].map(migrateLedger));
    await Promise.all(others.map((other) => other.close()));
  });
  afterAll(async () => {
    await database.close();
    await server.stop();
  });

  contract(() => database);
});

it('safeInteger takes what drivers answer and refuses what a number cannot hold', () => {
  expect([safeInteger('12'), safeInteger(12n), safeInteger(12)]).toEqual([12, 12, 12]);
  for (const bad of ['9007199254740993', 2n ** 60n, 1.5, 'x', null, undefined])
    expect(() => safeInteger(bad)).toThrow(RangeError);
});
