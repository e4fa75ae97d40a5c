import { Logger } from '@nestjs/common';
import type { RedPacketService } from 'luanest/red-packet';
import { BooksKeeper } from '../../src/ledger/books-keeper';
import type { LedgerHost } from '../../src/ledger/ledger-host';
import type { LedgerReader } from '../../src/ledger/ledger-reader';
import type { PostgresDatabase } from '../../src/ledger/postgres-database';
import type { SqlLedger } from '../../src/ledger/sql-ledger';
import { AuditJob } from '../../src/monitoring/audit/audit.job';
import { BooksService } from '../../src/monitoring/audit/books.service';
import type { CountService } from '../../src/monitoring/audit/count.service';
import { type PayoutBench, startPayoutBench } from './support/payout-bench';

let bench: PayoutBench;
let database: PostgresDatabase;
let ledger: SqlLedger;
let packets: RedPacketService;
let activityId = '';
let activityKey = '';
let turn = 0;

beforeAll(async () => {
  bench = await startPayoutBench();
  ({ database, ledger, packets } = bench);
}, 120_000);
afterAll(() => bench.stop());

/** A rain that is closed: two packets were won and paid, eight were refunded, and the ledger has all of it. */
beforeEach(async () => {
  activityId = `audited-${(turn += 1)}`;
  await packets.create({ activityId, totalCents: 1_000, packets: 10 });
  activityKey = (await packets.status(activityId))?.activityKey ?? '';
  for (const userId of ['ann', 'bob']) {
    const grab = await packets.grab(activityId, userId);
    if (grab.status !== 'won') throw new Error(`The grab ended with ${grab.status}.`);
    await ledger.credit([{ activityKey, activityId, userId, ...grab.packet }]);
  }
  await packets.close(activityId);
  await new BooksKeeper(packets, {} as LedgerHost).keep(ledger);
});

/** Runs the audit job now and 31 s later. Returns the faults that it logged about the rain. */
async function audited(): Promise<string> {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const reader = { totals: (key: string) => ledger.totals(key) } as unknown as LedgerReader;
  const books = new BooksService(packets, reader);
  const job = new AuditJob(packets, books, {} as CountService);
  await job.readAll();
  books.now = () => performance.now() + 31_000;
  await job.readAll();
  const lines = logged.mock.calls.map(([line]) => String(line)).filter((line) => line.startsWith(`${activityId}: `));
  logged.mockRestore();
  return lines.join('\n');
}

it('finds no fault in an entry that agrees with Redis', async () => {
  expect((await ledger.totals(activityKey)).book).toMatchObject({ fundedCents: 1_000, owedCents: 0 });
  expect(await audited()).toBe('');
});

it.each([
  ['a missing entry', 'DELETE FROM luanest.activities WHERE activity_key = $1', /books has had no entry for over 30 s/],
  [
    'another funding',
    'UPDATE luanest.activities SET funded_cents = funded_cents + 1 WHERE activity_key = $1',
    /books has a funding of 1001 cents instead of 1000/,
  ],
  [
    'a missing refund',
    'UPDATE luanest.activities SET refunded_cents = 0 WHERE activity_key = $1',
    /books has lacked a refund for over 30 s/,
  ],
  [
    'a refund that is too high',
    'UPDATE luanest.activities SET refunded_cents = refunded_cents + 1 WHERE activity_key = $1',
    /books has \d+ cents refunded, but Redis has \d+/,
  ],
  [
    'a payout that is too high',
    `UPDATE luanest.payouts SET amount_cents = amount_cents + 1 WHERE activity_key = $1 AND user_id = 'ann'`,
    /books has 1001 cents paid and refunded of 1000 funded/,
  ],
])('finds %s', async (_what, sabotage, fault) => {
  await database.query(sabotage, [activityKey]);
  expect(await audited()).toMatch(fault);
});

it('waits for a refund that the ledger is about to get', async () => {
  await database.query('UPDATE luanest.activities SET refunded_cents = 0 WHERE activity_key = $1', [activityKey]);
  const reader = { totals: (key: string) => ledger.totals(key) } as unknown as LedgerReader;
  const books = new BooksService(packets, reader);
  expect((await books.read(activityId))?.unbookedMs).toBe(0);
  books.now = () => performance.now() + 20_000;
  expect((await books.read(activityId))?.unbookedMs).toBeGreaterThanOrEqual(20_000);
  await new BooksKeeper(packets, {} as LedgerHost).keep(ledger);
  expect((await books.read(activityId))?.unbookedMs).toBe(0);
});
