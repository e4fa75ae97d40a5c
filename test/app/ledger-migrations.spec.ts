import { migrateLedger } from '../../src/ledger/ledger-migrations';
import { PgliteDatabase } from '../../src/ledger/pglite-database';
import { SqlLedger } from '../../src/ledger/sql-ledger';
import { createOldLedger } from './support/old-ledger';
import { makeDataFolder, removeFolder } from './support/temp-folder';

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
