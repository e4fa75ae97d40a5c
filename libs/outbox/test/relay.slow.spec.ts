import { once } from 'node:events';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { forkWorker } from '../../../test/support/fork-worker';
import { size } from '../../../test/support/size';
import { eventually } from '../../../test/support/wait';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { quiet } from '../../script-registry/test/support';
import { openBench, openPostgres, type Bench } from './support';
import { STEPS, type RelayJob } from './worker';

const PATIENT = { timeoutMs: 120_000 };

let postgres: Awaited<ReturnType<typeof openPostgres>>;
let redis: RedisServer;
let bench: Bench;
const seen = { tasks: new Map<string, number>(), messages: new Map<string, number>() };
const inOrder = new Map<string, number[]>();
const children = new Set<ChildProcess>();

beforeAll(async () => {
  [postgres, redis] = await Promise.all([openPostgres(), startRedis()]);
  const client = quiet(new Redis(redis.port, { maxRetriesPerRequest: null }));
  bench = await openBench({ pool: postgres.pool, client, prefix: uniquePrefix(), relay: false });
  const count = (counts: Map<string, number>, id: string): void => void counts.set(id, (counts.get(id) ?? 0) + 1);
  bench.tasks.handle('job', (payload: string) => count(seen.tasks, payload));
  bench.tasks.onApplicationBootstrap();
  await bench.streams.handle<{ id: string; key: string; n: number }>(
    { stream: 's', group: 'g', ordered: true },
    ({ payload: { id, key, n } }) => {
      count(seen.messages, id);
      inOrder.set(key, [...(inOrder.get(key) ?? []), n]);
    },
  );
}, 120_000);

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await bench.close();
  await redis.stop();
  await postgres.stop();
}, 60_000);

function startRelay(dies?: RelayJob['dies']): ChildProcess {
  const child = forkWorker(join(__dirname, 'worker.ts'));
  children.add(child);
  child.once('exit', () => children.delete(child));
  const { port } = redis;
  const job: RelayJob = { url: postgres.url, port, prefix: PREFIX(), table: bench.table, ...(dies && { dies }) };
  child.send(job);
  return child;
}

const PREFIX = (): string => bench.registry.keySpace('delayed-task').tag('x').key('y').split(':')[0] as string;

const deaths = STEPS.flatMap((step) =>
  (['before', 'after'] as const).map((when) => ({ step, when, signal: 'SIGKILL' as const })),
);
// The first round of a relay, and a later one.
const runs = Array.from({ length: size(1, 4) }, (_, i) =>
  deaths.map((death) => ({ ...death, nth: [1, 3, 2, 6][i] as number })),
).flat();
let written = 0;
const numbers = new Map<string, number>();

/** Writes five tasks and five messages in a transaction. Some transactions roll back, and leave nothing. */
async function writeRows(): Promise<void> {
  const fails = written % 10 === 5 && Math.random() < 0.5;
  const transaction = bench.database.transaction(async (query) => {
    for (let i = 0; i < 5; i++) {
      const id = `row-${written + i}`;
      const key = `k${(written + i) % 3}`;
      const n = (numbers.get(key) ?? 0) + 1;
      await bench.outbox.schedule(query, 'job', fails ? 'never' : id);
      await bench.outbox.publish(query, 's', { id: fails ? 'never' : id, key, n }, { key });
      if (!fails) numbers.set(key, n);
    }
    if (fails) throw new Error('rolled back');
  });
  await transaction.then(
    () => (written += 5),
    () => undefined,
  );
}

async function write(rows: number): Promise<void> {
  for (const expected = written + rows; written < expected;) await writeRows();
}

async function allSent(): Promise<void> {
  await eventually(
    async () => expect(await bench.outbox.stats()).toMatchObject({ waiting: 0, failed: 0, undecided: 0 }),
    PATIENT,
  );
  await eventually(() => expect([seen.tasks.size, seen.messages.size]).toEqual([written, written]), PATIENT);
}

async function expectEachOnce(): Promise<void> {
  // Each task and each message was made once: a second one would be handled, too, or wait.
  expect(await bench.tasks.stats()).toMatchObject({ waiting: 0, running: 0, dead: 0 });
  await eventually(
    async () => expect(await bench.streams.stats('s', 'g')).toMatchObject({ length: 0, pending: 0 }),
    PATIENT,
  );
  expect([...seen.tasks.values(), ...seen.messages.values()].filter((times) => times !== 1)).toEqual([]);
  for (const ns of inOrder.values()) expect(ns).toEqual(ns.map((_, i) => i + 1));
}

it.each(runs)(
  'a relay that is killed $when $step $nth loses nothing and sends nothing twice',
  async (dies) => {
    const rows = size(60, 200);
    const child = startRelay(dies);
    const exit = once(child, 'exit');
    await write(rows);
    expect(await exit).toEqual([null, 'SIGKILL']);
    // Two relays end what the dead one has begun.
    const others = [startRelay(), startRelay()];
    await allSent();
    const ended = others.map((other) => once(other, 'exit'));
    for (const other of others) other.kill('SIGKILL');
    await Promise.all(ended);
    await expectEachOnce();
  },
  300_000,
);

it.each([
  { step: 'send', when: 'before', nth: 1, signal: 'SIGSTOP' },
  // It has deleted rows, and not committed.
  { step: 'settle', when: 'after', nth: 1, signal: 'SIGSTOP' },
] as const)(
  'a relay that stands still $when $step gives way after a minute, and then sends nothing twice',
  async (dies) => {
    const child = startRelay(dies);
    await write(5);
    await eventually(async () => {
      const { rows } = await postgres.pool.query(`SELECT FROM pg_locks WHERE locktype = 'advisory'`);
      expect(rows).toHaveLength(1);
    }, PATIENT);
    const other = startRelay();
    await allSent();
    const exit = once(other, 'exit');
    other.kill('SIGKILL');
    await exit;
    child.kill('SIGCONT');
    await write(5);
    await allSent();
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await expectEachOnce();
  },
  300_000,
);
