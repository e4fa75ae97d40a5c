import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { note } from '../../../test/support/fault-notes';
import { forkWorker } from '../../../test/support/fork-worker';
import { eventually, sleep } from '../../../test/support/wait';
import { openBench, quiet, type Bench } from './support';
import type { WorkerJob, WorkerNote } from './worker';
import { size } from '../../../test/support/size';

const RUNS = size(1, 10);
const MESSAGES = 600;
const GROUPS = ['mail', 'audit', 'search'];

/** The processes of one group, and what they handled. */
class Group {
  readonly done = new Set<number>();
  /** True once its process consumes. */
  running = false;
  private child: ChildProcess | undefined;

  constructor(private readonly job: WorkerJob) {}

  start(): void {
    this.child = forkWorker(join(__dirname, 'worker.ts'));
    this.child.on('message', (notes) => {
      for (const { what, payload } of notes as WorkerNote[]) {
        if (what === 'done') this.done.add(payload);
        if (what === 'running') this.running = true;
      }
    });
    // Each looks for partitions at times of its own.
    this.child.send({ ...this.job, watchEveryMs: 50 + Math.floor(Math.random() * 500) });
  }

  async stop(): Promise<void> {
    if (!this.child) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
    this.child = undefined;
  }
}

describe('groups in processes of their own, while partitions are added', () => {
  let server: RedisServer;
  let benches: Bench[] = [];
  const groups: Group[] = [];
  beforeAll(async () => {
    server = await startRedis();
    for (const partitions of [1, 4, 9]) {
      const client = quiet(new Redis(server.port));
      benches.push(await openBench(client, { partitions }, { prefix: 'grows' }));
    }
  });
  afterEach(() => Promise.all(groups.splice(0).map((each) => each.stop())));
  afterAll(async () => {
    await Promise.all(benches.map((bench) => bench.close()));
    benches = [];
    await server.stop();
  });

  async function publish(stream: string): Promise<void> {
    const each = MESSAGES / benches.length;
    for (const [turn, bench] of benches.entries()) {
      for (let from = turn * each; from < (turn + 1) * each; from += 20) {
        await bench.streams.publishMany(
          stream,
          Array.from({ length: 20 }, (_, i) => ({ payload: from + i })),
        );
        await sleep(5);
      }
    }
  }

  it.each([2, 3])(
    '%s groups get every message, also when one of their processes is killed',
    async (count) => {
      for (let run = 0; run < RUNS; run++) {
        const stream = `s${count}-${run}`;
        const place = { url: server.url, prefix: 'grows', stream, partitions: 1, leaseMs: 1_000 };
        const job = { ...place, concurrency: 16, workMs: 0 };
        const all = GROUPS.slice(0, count).map((group) => new Group({ ...job, group }));
        groups.push(...all);
        for (const group of all) group.start();
        // The one that knows of a single partition: looking at how a group stands announces those that one knows of.
        const bench = benches[0] as Bench;
        await eventually(() => expect(all.map(({ running }) => running)).toEqual(all.map(() => true)), {
          timeoutMs: 60_000,
        });
        for (const group of GROUPS.slice(0, count)) await bench.streams.stats(stream, group);
        const publishing = publish(stream);
        await sleep(Math.random() * 500);
        const victim = all[run % count] as Group;
        await victim.stop();
        note('workers killed (SIGKILL)');
        await sleep(Math.random() * 500);
        victim.start();
        await publishing;
        await eventually(() => expect(all.map(({ done }) => done.size)).toEqual(all.map(() => MESSAGES)), {
          timeoutMs: 30_000,
        });
        note('messages, tasks, slots and grabs checked one by one', MESSAGES * count);
        await eventually(async () => expect((await bench.streams.stats(stream, 'mail')).length).toBe(0), {
          timeoutMs: 30_000,
        });
        await Promise.all(groups.splice(0).map((each) => each.stop()));
      }
    },
    RUNS * 60_000,
  );
});
