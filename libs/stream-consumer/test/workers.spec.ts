import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { note } from '../../../test/support/fault-notes';
import { forkWorker } from '../../../test/support/fork-worker';
import { RedisServer } from '../../../test/support/redis-server';
import { eventually, sleep } from '../../../test/support/wait';
import { openBench, quiet, type Bench } from './support';
import type { WorkerJob, WorkerNote } from './worker';

/** The full figures take some two minutes: LUANEST_LONG=1. */
const LONG = process.env.LUANEST_LONG === '1';
const MESSAGES = LONG ? 100_000 : 16_000;
const SECONDS = LONG ? 60 : 8;
const RESTARTS = LONG ? 2 : 1;
const WORKERS = 4;
const LEASE_MS = 2_000;
const WORK_MS = 15;
const CONCURRENCY = 8;
const PARTITIONS = 4;
/** Published in the background, so that they do not come all at once. */
const CHUNK = 250;

interface Told extends WorkerNote {
  readonly by: Worker;
  readonly at: number;
}

/** A process that consumes, and all that it told. */
class Worker {
  readonly child: ChildProcess;
  readonly told: Told[] = [];
  killedAt: number | undefined;
  readonly gone: Promise<unknown>;

  constructor(job: WorkerJob) {
    this.child = forkWorker(join(__dirname, 'worker.ts'));
    this.gone = once(this.child, 'exit');
    this.child.on('message', (notes) => {
      const at = performance.now();
      for (const note of notes as WorkerNote[]) this.told.push({ ...note, by: this, at });
    });
    this.child.send(job);
  }

  async kill(): Promise<void> {
    this.killedAt = performance.now();
    note('workers killed (SIGKILL)');
    this.child.kill('SIGKILL');
    await this.gone;
    // What it wrote before its death may still be in the pipe.
    await sleep(20);
  }
}

describe('consumers in processes of their own', () => {
  let server: RedisServer;
  let bench: Bench;
  const workers: Worker[] = [];
  beforeAll(async () => {
    server = await RedisServer.start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const client = quiet(new Redis(server.port, { retryStrategy: () => 50 }));
    bench = await openBench(client, { partitions: PARTITIONS });
  });
  afterAll(async () => {
    for (const { child } of workers) child.kill('SIGKILL');
    await bench.close();
    await server.stop();
  });

  function start(stream: string, more: Partial<WorkerJob> = {}): Worker {
    const places = { url: server.url, prefix: bench.prefix, stream, partitions: PARTITIONS };
    const job = { ...places, leaseMs: LEASE_MS, concurrency: CONCURRENCY, workMs: WORK_MS, ...more };
    const worker = new Worker(job);
    workers.push(worker);
    return worker;
  }

  async function publishAll(stream: string, paceMs: number): Promise<void> {
    for (let from = 0; from < MESSAGES; from += CHUNK) {
      const chunk = Array.from({ length: CHUNK }, (_, i) => ({ payload: from + i, operationId: `o${from + i}` }));
      // Redis may be killed under it: with their operation ids, those that were published are not published again.
      await eventually(() => bench.streams.publishMany(stream, chunk), { timeoutMs: 60_000 });
      await sleep(paceMs);
    }
  }

  it('one of them is killed every second, and Redis too: each message is handled, and taken over in time', async () => {
    const stream = 'killed';
    const startedAt = performance.now();
    const outages: [from: number, to: number][] = [];
    const live = Array.from({ length: WORKERS }, () => start(stream));
    await eventually(async () => expect((await bench.streams.stats(stream, 'g')).sessions).toBe(WORKERS * PARTITIONS), {
      timeoutMs: 30_000,
    });
    const publishing = publishAll(stream, Math.floor((SECONDS * 1_000 * CHUNK) / MESSAGES / 2));
    for (let second = 1; second <= SECONDS; second++) {
      await sleep(1_000);
      const victim = Math.floor(Math.random() * WORKERS);
      await live[victim]?.kill();
      live[victim] = start(stream);
      if (second % Math.ceil(SECONDS / (RESTARTS + 1)) === 0 && outages.length < RESTARTS) {
        const from = performance.now();
        await server.kill();
        await sleep(500);
        await server.restart();
        outages.push([from, performance.now()]);
      }
    }
    await publishing;
    const told = (): Told[] => workers.flatMap((worker) => worker.told);
    await eventually(
      async () => {
        expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0, due: 0, dead: 0 });
        expect(new Set(told().flatMap(({ what, payload }) => (what === 'done' ? [payload] : []))).size).toBe(MESSAGES);
      },
      { timeoutMs: 120_000, everyMs: 200 },
    );
    const report = judge(told(), outages);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    // The figures of the long run are its result.
    if (LONG)
      process.stdout.write(`${JSON.stringify({ messages: MESSAGES, seconds, restarts: outages.length, ...report })}\n`);
    note('messages, tasks, slots and grabs checked one by one', MESSAGES);
    note('handled more than once, as at-least-once allows', report.handledTwice);
    note('lost', report.lost);
    expect(report.lost).toBe(0);
    expect(report.unexplained).toBe(0);
    expect(report.kills).toBe(SECONDS);
    expect(report.abandoned).toBeGreaterThan(0);
    expect(report.slowestTakeoverMs).toBeLessThan(LEASE_MS + 1_000);
    await Promise.all(live.map((worker) => worker.kill()));
  }, 300_000);

  /** How often messages were handled, why some were handled twice, and how soon what dead workers had was begun anew. */
  function judge(told: readonly Told[], outages: readonly [number, number][]): Record<string, number> {
    const nearOutage = (at: number, before: number): boolean =>
      outages.some(([from, to]) => at >= from - before && at <= to + LEASE_MS + 1_000);
    const byMessage = (wanted: WorkerNote['what']): Map<number, Told[]> => {
      const found = new Map<number, Told[]>();
      for (const one of told) {
        if (one.what === wanted) found.set(one.payload, [...(found.get(one.payload) ?? []), one]);
      }
      return found;
    };
    const [begun, done] = [byMessage('begun'), byMessage('done')];
    const twice = [...done.values()].filter((times) => times.length > 1);
    let [byKill, byOutage, unexplained, slowest, abandoned, again] = [0, 0, 0, 0, 0, 0];
    for (const times of twice) {
      const first = times.reduce((a, b) => (a.at < b.at ? a : b));
      // Its worker was killed before it could acknowledge what it had handled.
      if (first.by.killedAt !== undefined && first.by.killedAt - first.at < 1_000) byKill += 1;
      else if (nearOutage(first.at, LEASE_MS)) byOutage += 1;
      else unexplained += 1;
    }
    for (const times of begun.values()) {
      for (const { by, payload, attempt } of times) {
        const { killedAt } = by;
        const ended = done.get(payload)?.some((one) => one.by === by) ?? false;
        if (killedAt === undefined || ended || nearOutage(killedAt, LEASE_MS + 1_000)) continue;
        const next = times.filter((one) => one.attempt > attempt).sort((a, b) => a.attempt - b.attempt)[0];
        if (next === undefined) continue;
        abandoned += 1;
        // One that took it over may have been killed before it could tell: each takeover counts as an attempt.
        const takeovers = next.attempt - attempt;
        if (takeovers > 1) again += 1;
        slowest = Math.max(slowest, (next.at - killedAt) / takeovers);
      }
    }
    return {
      lost: MESSAGES - done.size,
      handledTwice: twice.length,
      byKill,
      byOutage,
      unexplained,
      kills: workers.filter(({ killedAt }) => killedAt !== undefined).length,
      abandoned,
      takenOverTwice: again,
      slowestTakeoverMs: Math.round(slowest),
    };
  }

  it('one that was stopped beyond its lease changes nothing when it goes on', async () => {
    const stream = 'stopped';
    const victim = start(stream, { workMs: 600 });
    await bench.streams.publish(stream, 7);
    await eventually(() => expect(victim.told.map(({ what }) => what)).toEqual(['begun']));
    victim.child.kill('SIGSTOP');
    const other = start(stream, { workMs: 3_000 });
    await eventually(() => expect(other.told.map(({ what }) => what)).toEqual(['begun']), { timeoutMs: 20_000 });
    victim.child.kill('SIGCONT');
    await eventually(() =>
      expect(victim.told.map(({ what }) => what)).toEqual(expect.arrayContaining(['done', 'lost'])),
    );
    expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 1, pending: 1, due: 0, dead: 0 });
    await eventually(async () =>
      expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0 }),
    );
    expect(other.told.map(({ what }) => what)).toEqual(['begun', 'done']);
  });
});
