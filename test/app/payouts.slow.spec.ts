import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import {
  RedPacketPayouts,
  type ActivityStatus,
  type AuditResult,
  type Payout,
  type RedPacketService,
} from 'luanest/red-packet';
import { faultsOf } from '../../src/monitoring/audit/books.service';
import type { LedgerHost } from '../../src/ledger/ledger-host';
import { BooksKeeper } from '../../src/ledger/books-keeper';
import type { Ledger, LedgerTotals } from '../../src/ledger/ledger.types';
import type { PostgresDatabase } from '../../src/ledger/postgres-database';
import type { SqlLedger } from '../../src/ledger/sql-ledger';
import { LedgerPayer } from '../../src/ledger/payout/ledger-payer';
import { QUICK } from '../../libs/red-packet/test/support';
import { note } from '../support/fault-notes';
import { forkWorker } from '../support/fork-worker';
import { size } from '../support/size';
import { waitUntil } from '../support/wait';
import { type PayoutBench, startPayoutBench } from './support/payout-bench';
import { STEPS, type PayoutJob } from './support/payout-worker';

const PACKETS = size(70, 150);
const CENTS = 10_000;

let bench: PayoutBench;
let database: PostgresDatabase;
let ledger: SqlLedger;
let packets: RedPacketService;
let activityId = '';
let turn = 0;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  bench = await startPayoutBench();
  ({ database, ledger, packets } = bench);
}, 120_000);
afterAll(() => bench.stop());

/** Key of the life that the activity leads now. */
async function activityKey(): Promise<string> {
  const status = await packets.status(activityId);
  if (status === undefined) throw new Error(`${activityId} is not there.`);
  return status.activityKey;
}

const totals = async (): Promise<LedgerTotals> => ledger.totals(await activityKey());

async function grabbed(buckets: number): Promise<void> {
  activityId = `paid-${(turn += 1)}`;
  await packets.create({ activityId, totalCents: CENTS, packets: PACKETS, buckets });
  const users = Array.from({ length: PACKETS }, (_, index) => `${activityId}-user-${index}`);
  await Promise.all(users.map((user) => packets.grab(activityId, user)));
}
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

function worker(step: PayoutJob['step']): ChildProcess {
  const child = forkWorker(join(__dirname, 'support/payout-worker.ts'));
  children.add(child);
  const { server, postgres, prefix } = bench;
  const job: PayoutJob = { redisUrl: server.url, postgresUrl: postgres.url, prefix, step };
  child.send(job);
  return child;
}

async function expectAllPaidOnce(): Promise<void> {
  await waitUntil('the outbox is empty', async () => (await packets.status(activityId))?.openPayouts === 0);
  note('messages, tasks, slots and grabs checked one by one', PACKETS);
  expect(await totals()).toMatchObject({ rows: PACKETS, users: PACKETS, cents: CENTS, conflicts: 0 });
  let balances = 0;
  for (let i = 0; i < PACKETS; i++) {
    const user = `${activityId}-user-${i}`;
    const balance = await ledger.balance(user);
    expect(balance).toBe((await packets.packetOf(activityId, user))?.amountCents);
    balances += balance;
  }
  expect(balances).toBe(CENTS);
  const paid = await database.query(
    'SELECT user_id, packet_id, amount_cents FROM luanest.payouts WHERE activity_id = $1',
    [activityId],
  );
  const rows = paid.map((row) => ({
    userId: String(row.user_id),
    packetId: String(row.packet_id),
    amountCents: Number(row.amount_cents),
  }));
  const report = await packets.audit(activityId, { deep: true, ledger: rows });
  expect(report).toMatchObject({ ok: true, problems: [], deep: { quiet: true, paid: { packets: PACKETS } } });
}

it.each(STEPS.filter((step) => step !== 'none'))(
  'a process that is killed at the step "%s" loses and doubles nothing: one row a packet',
  async (step) => {
    await grabbed(2);
    const dying = worker(step);
    const [, signal] = (await once(dying, 'exit')) as [number | null, string | null];
    expect(signal).toBe('SIGKILL');
    note('workers killed (SIGKILL)');
    expect((await packets.status(activityId))?.openPayouts).toBeGreaterThan(0);
    const payer = new LedgerPayer(packets, ledger, { warn: () => undefined });
    const run = bench.payouts.run((payout) => payer.pay(payout), { ...QUICK, leaseMs: 500, concurrency: 40 });
    await expectAllPaidOnce();
    await run.stop();
  },
  60_000,
);

it('pays once with several processes at a time, of which some are killed', async () => {
  await grabbed(4);
  const [one] = (['none', 'none', 'settled'] as const).map(worker);
  await waitUntil('some are paid', async () => (await totals()).rows > 20);
  one?.kill('SIGKILL');
  await expectAllPaidOnce();
}, 60_000);

it('books both lives of an id that is used again after Redis has forgotten it', async () => {
  activityId = `again-${(turn += 1)}`;
  const keeper = new BooksKeeper(packets, {} as LedgerHost);
  const live = async (amounts: number[]): Promise<{ key: string; won: number }> => {
    const totalCents = amounts.reduce((sum, cents) => sum + cents, 0);
    await packets.create({ activityId, totalCents, packets: amounts.length, amounts, split: 'given' });
    const key = await activityKey();
    await keeper.keep(ledger);
    const grab = await packets.grab(activityId, `${activityId}-ann`);
    const payer = new LedgerPayer(packets, ledger, { warn: () => undefined });
    const run = bench.payouts.run((payout) => payer.pay(payout), QUICK);
    await waitUntil('it is paid', async () => (await packets.status(activityId))?.openPayouts === 0);
    await run.stop();
    await packets.close(activityId);
    await keeper.keep(ledger);
    const status = await packets.status(activityId);
    const report = await packets.audit(activityId, {
      deep: true,
      ledger: (await ledger.payouts(key, '', 100)).payouts,
    });
    expect(report).toMatchObject({ ok: true, problems: [] });
    expect(
      faultsOf({
        status: status as ActivityStatus,
        audit: report as AuditResult,
        ledger: await totals(),
        unbookedMs: 0,
      }),
    ).toEqual([]);
    return { key, won: 'packet' in grab ? grab.packet.amountCents : 0 };
  };
  const first = await live([400, 600]);
  // What the end of the retention does.
  const client = new Redis(bench.server.port);
  await client.flushall();
  client.disconnect();
  const second = await live([500, 700, 800]);
  expect(second.key).not.toBe(first.key);
  const books = await database.query(
    `SELECT activity_key, funded_cents, paid_cents, refunded_cents, owed_cents FROM luanest.books
     WHERE activity_id = $1 ORDER BY expires_at`,
    [activityId],
  );
  expect(books.map((row) => Object.values(row).map(String))).toEqual([
    [first.key, '1000', String(first.won), String(1_000 - first.won), '0'],
    [second.key, '2000', String(second.won), String(2_000 - second.won), '0'],
  ]);
  expect(await ledger.balance(`${activityId}-ann`)).toBe(first.won + second.won);
}, 60_000);

describe('what the ledger refuses', () => {
  const paidElsewhere = async (packetId: string, user: string, amountCents = 7): Promise<unknown> => {
    const row = { activityKey: await activityKey(), activityId, packetId, userId: user, amountCents };
    return ledger.credit([{ ...row, grantedAtMs: 1_700_000_000_123 }]);
  };

  async function payAll(into: Pick<Ledger, 'credit'> = ledger): Promise<void> {
    const payer = new LedgerPayer(packets, into, { warn: () => undefined });
    const run = bench.payouts.run((payout) => payer.pay(payout), QUICK);
    await waitUntil('the outbox is empty', async () => (await packets.status(activityId))?.openPayouts === 0);
    await run.stop();
  }

  it('a packet that was paid to another: its new holder gets another one, and nothing is paid twice', async () => {
    activityId = `refused-${(turn += 1)}`;
    await packets.create({ activityId, totalCents: CENTS, packets: 10 });
    const won = await packets.grab(activityId, 'newcomer');
    const packetId = won.status === 'won' ? won.packet.packetId : '';
    const amount = won.status === 'won' ? won.packet.amountCents : 0;
    await paidElsewhere(packetId, 'earlier', amount);
    await payAll();
    const now = await packets.packetOf(activityId, 'newcomer');
    expect(now?.packetId).not.toBe(packetId);
    expect(await totals()).toMatchObject({ rows: 2, users: 2, conflicts: 1 });
    expect(await ledger.balance('newcomer')).toBe(now?.amountCents);
    const rows = [
      { userId: 'earlier', packetId, amountCents: amount },
      { userId: 'newcomer', packetId: now?.packetId ?? '', amountCents: now?.amountCents ?? 0 },
    ];
    expect(await packets.audit(activityId, { ledger: rows })).toMatchObject({ ok: true, problems: [] });
  });

  it('a user who was paid another packet: they see that one, and the new one is refunded', async () => {
    activityId = `refused-${(turn += 1)}`;
    await packets.create({ activityId, totalCents: CENTS, packets: 10 });
    const won = await packets.grab(activityId, `${activityId} again`);
    const other = won.status === 'won' && won.packet.packetId === '3' ? '4' : '3';
    await paidElsewhere(other, `${activityId} again`);
    await payAll();
    expect(await packets.packetOf(activityId, `${activityId} again`)).toEqual({
      packetId: other,
      amountCents: 7,
      grantedAtMs: 1_700_000_000_123,
    });
    expect(await totals()).toMatchObject({ rows: 1, users: 1, cents: 7, conflicts: 1 });
    expect(await packets.status(activityId)).toMatchObject({ grantedPackets: 0, refundedPackets: 1 });
  });

  it('a row at which the ledger fails takes no other row along, and is given up in the end', async () => {
    activityId = `refused-${(turn += 1)}`;
    await packets.create({ activityId, totalCents: CENTS, packets: 30 });
    for (let i = 0; i < 30; i++) await packets.grab(activityId, `${activityId}-${i}`);
    const batches: number[] = [];
    const picky: Pick<Ledger, 'credit'> = {
      credit: (rows) => {
        batches.push(rows.length);
        if (rows.some(({ userId }) => userId === `${activityId}-13`)) return Promise.reject(new Error('no account'));
        return ledger.credit(rows);
      },
    };
    const payer = new LedgerPayer(packets, picky, { warn: () => undefined });
    const pay = (payout: Payout): Promise<void> => payer.pay(payout);
    const run = new RedPacketPayouts(bench.registry, bench.activities, bench.streams).run(pay, {
      ...QUICK,
      attempts: 3,
    });
    await waitUntil('the others are paid', async () => (await totals()).rows === 29);
    await waitUntil('it is given up', async () => (await bench.payouts.stats(activityId))?.deadLetters === 1);
    expect(Math.max(...batches)).toBeGreaterThan(10);
    await run.stop();
    const { items } = await bench.payouts.deadLetters(activityId);
    expect(items).toMatchObject([
      { payload: { userId: `${activityId}-13` }, error: 'Error: no account', attemptsMade: 3 },
    ]);
  });
});
