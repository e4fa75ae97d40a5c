import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { note } from '../../../test/support/fault-notes';
import { forkWorker } from '../../../test/support/fork-worker';
import { Pulse } from '../../../test/support/pulse';
import { takeoversOf, type Span, type Told } from '../../../test/support/takeovers';
import { eventually, sleep } from '../../../test/support/wait';
import { openBench, quiet, type Bench } from './support';
import type { WorkerJob, WorkerNote } from './worker';
import { LONG, size } from '../../../test/support/size';

const MESSAGES = size(3_500, 100_000);
const SECONDS = size(4, 60);
const RESTARTS = LONG ? 2 : 1;
const WORKERS = 4;
const LEASE_MS = 2_000;
// A quick run has work to do until its last kill, too.
const WORK_MS = size(40, 15);
const CONCURRENCY = 8;
const PARTITIONS = 4;
/** Published in the background, so that they do not come all at once. */
const CHUNK = 250;

interface Note extends WorkerNote {
  readonly at: number;
}

/** A process that consumes, and its messages to the parent. */
class Worker {
  readonly child: ChildProcess;
  readonly told: Note[] = [];
  /** When it stood still, by its own account. */
  readonly stalls: Span[] = [];
  killedAt: number | undefined;
  /** True once it consumes. */
  running = false;
  readonly gone: Promise<unknown>;

  constructor(job: WorkerJob) {
    this.child = forkWorker(join(__dirname, 'worker.ts'));
    this.gone = once(this.child, 'exit');
    this.child.on('message', (notes) => {
      const at = performance.now();
      for (const note of notes as WorkerNote[]) {
        if (note.what === 'running') this.running = true;
        else if (note.what === 'stalled') this.stalls.push([at - note.payload, at]);
        else this.told.push({ ...note, at });
      }
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
  let pulse: Pulse | undefined;
  const workers: Worker[] = [];
  beforeAll(async () => {
    server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const client = quiet(new Redis(server.port, { retryStrategy: () => 50 }));
    bench = await openBench(client, { partitions: PARTITIONS });
  });
  afterAll(async () => {
    await pulse?.stop();
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
    const outages: Span[] = [];
    pulse = new Pulse(server.url);
    const live = Array.from({ length: WORKERS }, () => start(stream));
    await eventually(() => expect(live.map(({ running }) => running)).toEqual(live.map(() => true)), {
      timeoutMs: 60_000,
    });
    const publishing = publishAll(stream, Math.floor((SECONDS * 1_000 * CHUNK) / MESSAGES / 2));
    for (let second = 1; second <= SECONDS; second++) {
      await sleep(1_000);
      const victim = Math.floor(Math.random() * WORKERS);
      await live[victim]?.kill();
      live[victim] = start(stream);
      // At the end of a quick run: the takeovers of the kills shortly before and after it are not timed.
      if (second % Math.ceil(SECONDS / RESTARTS) === 0 && outages.length < RESTARTS) {
        const from = performance.now();
        await server.kill();
        await sleep(500);
        await server.restart();
        outages.push([from, performance.now()]);
      }
    }
    await publishing;
    const told = (): Told<Worker>[] =>
      workers.flatMap((by) =>
        by.told.flatMap(({ what, payload, attempt, at }) =>
          what === 'begun' || what === 'done' ? [{ what, id: payload, attempt, by, at }] : [],
        ),
      );
    await eventually(
      async () => {
        expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0, due: 0, dead: 0 });
        expect(new Set(told().flatMap(({ what, id }) => (what === 'done' ? [id] : []))).size).toBe(MESSAGES);
      },
      { timeoutMs: 600_000, everyMs: 200 },
    );
    await pulse.stop();
    const killedAt = (worker: Worker): number | undefined => worker.killedAt;
    const stalls = [...pulse.stalls, ...workers.flatMap((worker) => worker.stalls)];
    const report = takeoversOf(told(), { leaseMs: LEASE_MS, killedAt, outages: [...outages, ...stalls] });
    const kills = workers.filter((worker) => killedAt(worker) !== undefined).length;
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    // The numbers of the long run are its result.
    if (LONG) {
      const figures = { messages: MESSAGES, seconds, kills, restarts: outages.length, longestStallMs: pulse.longestMs };
      process.stdout.write(`${JSON.stringify({ ...figures, ...report })}\n`);
    }
    note('messages, tasks, slots and grabs checked one by one', MESSAGES);
    note('handled more than once, as at-least-once allows', report.handledTwice);
    note('lost', MESSAGES - report.done);
    expect(report.done).toBe(MESSAGES);
    expect(report.unexplained).toBe(0);
    expect(kills).toBe(SECONDS);
    // On a busy machine, the few workers that a quick run kills may handle nothing at that moment.
    if (LONG) expect(report.abandoned).toBeGreaterThan(0);
    expect(report.slowestTakeoverMs).toBeLessThan(LEASE_MS + 1_000);
    await Promise.all(live.map((worker) => worker.kill()));
  }, 300_000);

  it('one that was stopped beyond its lease changes nothing when it goes on', async () => {
    const stream = 'stopped';
    const terms = { workMs: 'held', leaseMs: 2 * LEASE_MS } as const;
    const words = ({ told }: Worker): string[] => told.map(({ what }) => what);
    const victim = start(stream, terms);
    await bench.streams.publish(stream, 7);
    await eventually(() => expect(words(victim)).toEqual(['begun']), { timeoutMs: 30_000 });
    victim.child.kill('SIGSTOP');
    const other = start(stream, terms);
    await eventually(() => expect(words(other)).toEqual(['begun']), { timeoutMs: 30_000 });
    // When it wakes its handler ends at once, and acknowledges.
    victim.child.send('go');
    victim.child.kill('SIGCONT');
    await eventually(() => expect(words(victim)).toEqual(expect.arrayContaining(['done', 'lost'])));
    expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 1, pending: 1, due: 0, dead: 0 });
    other.child.send('go');
    await eventually(async () =>
      expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0 }),
    );
    await eventually(() => expect(words(other)).toEqual(['begun', 'done']));
  });
});
