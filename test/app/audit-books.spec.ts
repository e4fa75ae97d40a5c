import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { RedPacketService } from 'luanest/red-packet';
import { BooksKeeper } from '../../src/ledger/books-keeper';
import type { LedgerHost } from '../../src/ledger/ledger-host';
import type { LedgerReader } from '../../src/ledger/ledger-reader';
import type { PostgresDatabase } from '../../src/ledger/postgres-database';
import type { SqlLedger } from '../../src/ledger/sql-ledger';
import { AuditJob } from '../../src/monitoring/audit/audit.job';
import { AccountsService } from '../../src/monitoring/audit/accounts.service';
import { BooksService } from '../../src/monitoring/audit/books.service';
import { CountService } from '../../src/monitoring/audit/count.service';
import { undecorated } from 'luanest/testing';
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
  const job = new AuditJob(packets, books, {} as CountService, {} as AccountsService);
  await job.readAll();
  books.now = () => performance.now() + 31_000;
  await job.readAll();
  const lines = logged.mock.calls
    .map(([line]) => String(line))
    .filter((line) => line.startsWith(`${JSON.stringify(activityId)}: `));
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

describe('the accounts of users', () => {
  /** Reader of the ledger of this test. */
  const reader = () =>
    ({
      wrongAccounts: () => ledger.wrongAccounts(),
      wrongAccountsOf: (key: string) => ledger.wrongAccountsOf(key, '', 1_000).then(({ wrong }) => wrong),
      payouts: async (key: string) => Readable.from((await ledger.payouts(key, '', 1_000)).payouts),
    }) as unknown as LedgerReader;

  /** Faults that the audit job logs of all accounts, and the problems of a count of the rain. */
  async function found(): Promise<{ readonly logged: string[]; readonly counted: readonly string[] }> {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const accounts = new AccountsService(reader());
    const books = { read: () => Promise.resolve(undefined) } as unknown as BooksService;
    const job = undecorated(new AuditJob(packets, books, {} as CountService, accounts));
    await job.audit();
    const logged = error.mock.calls.map(([line]) => String(line));
    error.mockRestore();
    const locks = {
      withLock: (_name: string, _options: object, work: (lock: object) => unknown) =>
        work({ fence: 1, assertHeld: () => undefined }),
    };
    const records = { note: () => Promise.resolve(true) };
    const service = new CountService(
      packets,
      reader(),
      locks as never,
      records as never,
      { node: 'here' } as never,
      accounts,
    );
    const record = await service.count(activityId, 0);
    expect(record?.ok).toBe(record?.problems.length === 0);
    return { logged, counted: record?.problems ?? [] };
  }

  /** Accounts are of all rains, so earlier tests have left wrong ones. */
  beforeEach(async () => {
    await database.query('DELETE FROM luanest.accounts');
    await database.query(
      'INSERT INTO luanest.accounts SELECT user_id, sum(amount_cents) FROM luanest.payouts GROUP BY user_id',
    );
  });

  it('are right as they are', async () => {
    expect(await found()).toEqual({ logged: [], counted: [] });
  });

  it('are compared with the payouts: a balance that was changed is found and named', async () => {
    await database.query(`UPDATE luanest.accounts SET balance_cents = balance_cents + 100 WHERE user_id = 'ann'`);
    const { logged, counted } = await found();
    const fault = /the account of "ann" has \d+ cents, but the ledger has paid them \d+/;
    expect(logged).toEqual([expect.stringMatching(fault)]);
    expect(counted).toEqual([expect.stringMatching(fault)]);
  });

  it('are compared with the payouts: a deleted one is found and named', async () => {
    await database.query(`DELETE FROM luanest.accounts WHERE user_id = 'bob'`);
    const { logged, counted } = await found();
    const fault = /"bob" has no account, but the ledger has paid them \d+ cents/;
    expect(logged).toEqual([expect.stringMatching(fault)]);
    expect(counted).toEqual([expect.stringMatching(fault)]);
  });

  it('are compared with the payouts: an invented one is found and named, even one that exceeds 2^53', async () => {
    await database.query(`INSERT INTO luanest.accounts VALUES (E'eve\n[Nest]', 9223372036854775807)`);
    const { logged } = await found();
    expect(logged).toEqual([
      expect.stringMatching(
        /the account of "eve\\n\[Nest\]" has 9223372036854775807 cents, but the ledger has paid them 0/,
      ),
    ]);
  });

  it('are counted each: cents that moved from one user to another are found', async () => {
    await database.query(
      `UPDATE luanest.accounts SET balance_cents = balance_cents + CASE user_id WHEN 'ann' THEN 1 ELSE -1 END
       WHERE user_id IN ('ann', 'bob')`,
    );
    const { logged, counted } = await found();
    // The sum is as before.
    expect(logged).toEqual([]);
    expect(counted.map((line) => /"(ann|bob)"/.exec(line)?.[1])).toEqual(['ann', 'bob']);
  });
});
