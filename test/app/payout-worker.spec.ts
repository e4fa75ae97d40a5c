import { RedisModule } from '@liaoliaots/nestjs-redis';
import { Test, type TestingModule } from '@nestjs/testing';
import { RedPacketModule, RedPacketService } from 'luanest/red-packet';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedRedis } from '../../src/embedded/embedded-redis';
import { createLedgerSchema } from '../../src/ledger/ledger.schema';
import type { Ledger } from '../../src/ledger/ledger.types';
import { PgliteDatabase } from '../../src/ledger/pglite-database';
import { SqlLedger } from '../../src/ledger/sql-ledger';
import { type PayoutSource, PayoutWorker, type PayoutWorkerLog } from '../../src/payout/payout-worker';
import { makeTempFolder, removeFolder } from './support/temp-folder';
import { waitUntil } from './support/wait-until';

const PACKETS = 250;
const LEASE_MS = 1_000;
const silent: PayoutWorkerLog = { log: () => undefined, warn: () => undefined };

let folder: string;
let redis: EmbeddedRedis;
let app: TestingModule;
let packets: RedPacketService;
let database: PgliteDatabase;
let ledger: Ledger;
let activityId = '';
let turn = 0;
const workers: PayoutWorker[] = [];

beforeAll(async () => {
  folder = await makeTempFolder();
  redis = await EmbeddedRedis.start(folder, silent);
  database = await PgliteDatabase.open(`${folder}/ledger`);
  await createLedgerSchema(database);
  ledger = new SqlLedger(database);
  app = await Test.createTestingModule({
    imports: [
      RedisModule.forRoot({ config: { ...redis.endpoint } }),
      ScriptRegistryModule.forRoot({ preload: 'required' }),
      RedPacketModule.forRoot({ identity: () => undefined }),
    ],
  }).compile();
  await app.init();
  packets = app.get(RedPacketService);
}, 120_000);

afterAll(async () => {
  await app?.close();
  await database?.close();
  await redis?.stop();
  await removeFolder(folder);
});

beforeEach(async () => {
  activityId = `paid-${(turn += 1)}`;
  await packets.create({ activityId, totalCents: 10_000, packets: PACKETS });
  await Promise.all(
    Array.from({ length: PACKETS }, (_, index) => packets.grab(activityId, `${activityId}-user-${index}`)),
  );
});
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.stop())));

/** Only this test's activity, so that one test's leftovers are not another one's work. */
function source(faults: Partial<PayoutSource> = {}): PayoutSource {
  return {
    activities: () => Promise.resolve([activityId]),
    claimPayouts: (id, options) => packets.claimPayouts(id, options),
    settlePayouts: (id, entryIds) => packets.settlePayouts(id, entryIds),
    ...faults,
  };
}

function makeWorker(name: string, from: PayoutSource, into: Ledger, log = silent): PayoutWorker {
  const worker = new PayoutWorker(from, into, { worker: name, leaseMs: LEASE_MS, idleMs: 20, maxBackoffMs: 200 }, log);
  workers.push(worker);
  return worker;
}

async function expectAllPaidOnce(): Promise<void> {
  await waitUntil('the outbox is empty', async () => (await packets.status(activityId))?.outboxLength === 0);
  expect(await ledger.totals(activityId)).toEqual({ rows: PACKETS, users: PACKETS, cents: 10_000, conflicts: 0 });
  const balances = await Promise.all(
    Array.from({ length: PACKETS }, (_, index) => ledger.balance(`${activityId}-user-${index}`)),
  );
  expect(balances.reduce((sum, balance) => sum + balance, 0)).toBe(10_000);
}

/** A step at which a worker dies: before or after it took effect. */
class Death extends Error {}

function deadly<Args extends unknown[], T>(step: (...args: Args) => Promise<T>, when: 'before' | 'after') {
  return async (...args: Args): Promise<T> => {
    if (when === 'after') await step(...args);
    throw new Death();
  };
}

it('pays everything once and leaves the outbox empty', async () => {
  makeWorker('w', source(), ledger).start();
  await expectAllPaidOnce();
});

it.each([
  ['claim', 'after'],
  ['credit', 'before'],
  ['credit', 'after'],
  ['settle', 'before'],
  ['settle', 'after'],
] as const)('loses and doubles nothing when a worker dies at %s, %s it took effect', async (step, when) => {
  const faults: Partial<PayoutSource> = {
    ...(step === 'claim' && { claimPayouts: deadly((id, options) => packets.claimPayouts(id, options), when) }),
    ...(step === 'settle' && { settlePayouts: deadly((id, entryIds) => packets.settlePayouts(id, entryIds), when) }),
  };
  const dyingLedger: Ledger = {
    credit: step === 'credit' ? deadly((rows) => ledger.credit(rows), when) : (rows) => ledger.credit(rows),
    totals: (id) => ledger.totals(id),
    balance: (user) => ledger.balance(user),
    close: () => Promise.resolve(),
  };
  await expect(makeWorker('dying', source(faults), dyingLedger).payRound()).rejects.toBeInstanceOf(Death);
  makeWorker('heir', source(), ledger).start();
  await expectAllPaidOnce();
});

it('takes over only what its worker left for longer than the lease', async () => {
  const claimed = await packets.claimPayouts(activityId, { worker: 'slow', count: 10, leaseMs: LEASE_MS });
  expect(claimed).toHaveLength(10);
  const worker = makeWorker('quick', source(), ledger);
  while ((await worker.payRound()) > 0);
  expect((await ledger.totals(activityId)).rows).toBe(PACKETS - 10);
  await sleep(LEASE_MS + 100);
  expect(await worker.payRound()).toBe(10);
  await expectAllPaidOnce();
});

it('pays once with several workers at the same time', async () => {
  for (const name of ['a', 'b', 'c']) makeWorker(name, source(), ledger).start();
  await expectAllPaidOnce();
});

it('settles what contradicts the books once it is on record', async () => {
  await ledger.credit([
    {
      activityId,
      packetId: 'from-elsewhere',
      userId: `${activityId}-user-0`,
      amountCents: 1,
      grantedAtMs: 1,
      entryId: '0-1',
    },
  ]);
  const said: string[] = [];
  makeWorker('w', source(), ledger, { log: () => undefined, warn: (message) => said.push(message) }).start();
  await waitUntil('the outbox is empty', async () => (await packets.status(activityId))?.outboxLength === 0);
  expect(await ledger.totals(activityId)).toMatchObject({ rows: PACKETS, users: PACKETS, conflicts: 1 });
  expect(await ledger.balance(`${activityId}-user-0`)).toBe(1);
  expect(said).toEqual([expect.stringContaining('the user has been paid already')]);
});

it('goes on after errors, and says so once a change of state', async () => {
  let failing = true;
  let failures = 0;
  const said: string[] = [];
  const log = (message: string) => void said.push(message);
  const flaky = source({
    claimPayouts: (id, options) => {
      if (!failing) return packets.claimPayouts(id, options);
      failures += 1;
      return Promise.reject(new Error('Redis is away'));
    },
  });
  makeWorker('w', flaky, ledger, { log, warn: log }).start();
  await waitUntil('it failed several times', () => failures > 3);
  failing = false;
  await expectAllPaidOnce();
  expect(said).toEqual(['Paying out fails, and is tried again: Redis is away', 'Paying out again']);
});

it('finishes the batch in hand when it is stopped', async () => {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  let booked = 0;
  const slow: Ledger = {
    credit: async (rows) => {
      await gate;
      booked += rows.length;
      return ledger.credit(rows);
    },
    totals: (id) => ledger.totals(id),
    balance: (user) => ledger.balance(user),
    close: () => Promise.resolve(),
  };
  let claims = 0;
  const counted = source({
    claimPayouts: (id, options) => {
      claims += 1;
      return packets.claimPayouts(id, options);
    },
  });
  const worker = makeWorker('w', counted, slow);
  worker.start();
  await waitUntil('it has claimed', () => claims === 1);
  const stopped = worker.stop();
  open();
  await stopped;
  expect([claims, booked]).toEqual([1, 100]);
  expect((await packets.status(activityId))?.outboxLength).toBe(PACKETS - 100);
});
