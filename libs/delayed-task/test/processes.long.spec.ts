import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { note } from '../../../test/support/fault-notes';
import { forkWorker } from '../../../test/support/fork-worker';
import { Pulse } from '../../../test/support/pulse';
import { takeoversOf, type Span, type Told } from '../../../test/support/takeovers';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { inventory, openBench, quiet, type Bench } from './support';
import type { WorkerJob } from './worker';
import { LONG, size } from '../../../test/support/size';

const TASKS = size(4_000, 100_020);
const SECONDS = size(4, 60);
const REDIS_KILLS = LONG ? 2 : 1;
const LEASE_MS = 2_000;
// A quick run has fewer tasks, but as many of them run at each kill.
const TASK_MS = size(40, 20);

describe('killed workers and a killed Redis', () => {
  let server: RedisServer;
  let bench: Bench;
  let pulse: Pulse | undefined;
  let folder: string;
  const children = new Set<ChildProcess>();
  const killedAt = new Map<number, number>();
  const outages: Span[] = [];
  /** Number of tasks, with those that are added so that a worker is busy when it is killed. */
  let scheduled = TASKS;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'luanest-tasks-'));
    server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const client = quiet(new Redis(server.port, { retryStrategy: () => 50, maxRetriesPerRequest: null }));
    bench = await openBench(client, { work: false }, { prefix: uniquePrefix(), deadlineMs: 2_000 });
  });
  afterAll(async () => {
    await pulse?.stop();
    for (const child of children) child.kill('SIGKILL');
    await bench.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startWorker(): Promise<ChildProcess> {
    const child = forkWorker(join(__dirname, 'worker.ts'));
    children.add(child);
    const options = { leaseMs: LEASE_MS, concurrency: 100, attempts: 50 };
    const file = join(folder, String(child.pid));
    child.send({ port: server.port, prefix: bench.prefix, options, file, taskMs: TASK_MS } satisfies WorkerJob);
    await once(child, 'message');
    return child;
  }

  /** Kills a worker while it runs a task, and starts another. */
  async function killOne(): Promise<void> {
    const victim = await eventually(
      async () => {
        const found = [...children].find((child) => runsTask(child));
        if (found !== undefined) return found;
        // Where the machine stood still, all tasks so far may be done.
        if ((await bench.tasks.stats()).waiting === 0) {
          scheduled += 100;
          await schedule(scheduled - 100, 100);
        }
        throw new Error('no worker runs a task');
      },
      { everyMs: 2 },
    );
    if (victim.pid === undefined) return;
    children.delete(victim);
    const dead = once(victim, 'exit');
    victim.kill('SIGKILL');
    note('workers killed (SIGKILL)');
    killedAt.set(victim.pid, Date.now());
    await dead;
    await startWorker();
  }

  async function restartRedis(): Promise<void> {
    const from = Date.now();
    await server.kill();
    await sleep(300);
    await server.restart();
    outages.push([from, Date.now()]);
  }

  function runsTask({ pid }: ChildProcess): boolean {
    const file = join(folder, String(pid));
    const [last = ''] = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-2) : [];
    return last.startsWith('begun');
  }

  /** Schedules tasks for the next second. Calls with an unknown outcome are made again: the ids make that harmless. */
  async function schedule(first: number, count: number): Promise<void> {
    for (let at = first; at < first + count; at += 500) {
      const tasks = Array.from({ length: Math.min(500, first + count - at) }, (_, i) => ({
        name: 'job',
        id: `t${at + i}`,
        attempts: 50,
        delayMs: Math.floor(Math.random() * 1_000),
      }));
      await eventually(() => bench.tasks.scheduleMany(tasks), { everyMs: 50 });
    }
  }

  /** Returns the lines that the workers wrote, by process id, and the times in which they report that they stood still. */
  function told(): { readonly lines: Told<number>[]; readonly stalls: Span[] } {
    const stalls: Span[] = [];
    const pids = [...killedAt.keys(), ...[...children].map(({ pid }) => pid ?? 0)];
    const all = pids.flatMap((by) => {
      const file = join(folder, String(by));
      // Without the last line, which a killed worker may not have finished.
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
      return lines.flatMap((line) => {
        const [what, id = '', attempt, at] = line.split(' ');
        if (what !== 'stalled')
          return [{ what: what as 'begun' | 'done', id, attempt: Number(attempt), by, at: Number(at) }];
        stalls.push([Number(at) - Number(attempt), Number(at)]);
        return [];
      });
    });
    return { lines: all, stalls };
  }

  it(
    `${TASKS} tasks, 4 workers, one killed each second for ${SECONDS} s, Redis ${REDIS_KILLS} times: none is lost`,
    async () => {
      for (let i = 0; i < 4; i++) await startWorker();
      pulse = new Pulse(server.url, { now: Date.now });
      const scheduling: Promise<void>[] = [];
      for (let second = 1; second <= SECONDS; second++) {
        scheduling.push(schedule(((second - 1) * TASKS) / SECONDS, TASKS / SECONDS));
        await sleep(500);
        await killOne();
        // At the end of a quick run: the takeovers of the kills shortly before and after it are not timed.
        if (second % Math.floor(SECONDS / REDIS_KILLS) === 0 && outages.length < REDIS_KILLS) await restartRedis();
      }
      await Promise.all(scheduling);
      await eventually(
        async () => {
          const { waiting, running } = await bench.tasks.stats();
          expect(waiting + running).toBe(0);
        },
        { timeoutMs: 60_000, everyMs: 100 },
      );
      await pulse.stop();
      const { lines, stalls } = told();
      const done = new Set(lines.flatMap(({ what, id }) => (what === 'done' ? [id] : [])));
      const missing = Array.from({ length: scheduled }, (_, i) => `t${i}`).filter((id) => !done.has(id));
      note('messages, tasks, slots and grabs checked one by one', scheduled);
      note('lost', missing.length);
      expect(missing).toEqual([]);
      expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: [], problems: [] });

      const report = takeoversOf(lines, {
        leaseMs: LEASE_MS,
        killedAt: (pid) => killedAt.get(pid),
        outages: [...outages, ...pulse.stalls, ...stalls],
      });
      const figures = {
        tasks: scheduled,
        kills: killedAt.size,
        restarts: outages.length,
        longestStallMs: pulse.longestMs,
      };
      // The numbers of the long run are its result.
      if (LONG) process.stdout.write(`${JSON.stringify({ ...figures, ...report })}\n`);
      note('handled more than once, as at-least-once allows', report.handledTwice);
      expect(report.unexplained).toBe(0);
      expect(killedAt.size).toBe(SECONDS);
      expect(report.abandoned).toBeGreaterThan(0);
      expect(report.slowestTakeoverMs).toBeLessThan(LEASE_MS + 1_000);
    },
    LONG ? 600_000 : 120_000,
  );
});
