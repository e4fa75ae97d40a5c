import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { size } from '../../../test/support/size';
import { eventually, sleep } from '../../../test/support/wait';
import { listen, openBench, quiet, redisNow, type Bench } from './support';

/** Most that the machine is excused for, ms: by polling alone, the 99th percentile would be hundreds of ms late. */
const MOST_TAKEN_MS = 100;

const TASKS = size(30_000, 100_000);

/** Returns how long a process has waited for a core since it began, ms; 0 if the system does not report it. */
function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** Schedules TASKS tasks, and makes them due at once, by the clock of Redis alone. */
async function scheduleAtOnce(bench: Bench): Promise<void> {
  const at = (await redisNow(bench.raw)) + 60_000;
  for (let i = 0; i < TASKS; i += 10_000) {
    await bench.tasks.scheduleMany(
      Array.from({ length: 10_000 }, (_, k) => ({ name: 't', payload: { order: i + k }, runAtMs: at })),
    );
  }
  const { due } = bench.partitions[0] as { due: string };
  await bench.raw.call('ZUNIONSTORE', due, '1', due, 'WEIGHTS', '0.5');
}

describe('tasks and the clock', () => {
  let server: RedisServer;
  let bench: Bench;
  beforeAll(async () => {
    server = await startRedis();
  });
  beforeEach(async () => {
    const client = quiet(new Redis(server.port));
    await client.flushall();
    bench = await openBench(client, { concurrency: 100 });
  });
  afterEach(() => bench.close());
  afterAll(() => server.stop());

  it('1,000 tasks each second run never early, and hardly late', async () => {
    const settled = listen('attemptSettled');
    bench.tasks.handle('t', () => undefined);
    bench.work();
    const waited = (): number => waitedMs(process.pid) + waitedMs(server.pid);
    /** A second's worth of tasks. @returns how late the 99th percentile was taken, beyond what the machine took, ms */
    const second = async (): Promise<number> => {
      settled.events.length = 0;
      const waitedBefore = waited();
      const start = (await redisNow(bench.raw)) + 300;
      await bench.tasks.scheduleMany(Array.from({ length: 1_000 }, (_, i) => ({ name: 't', runAtMs: start + i })));
      await eventually(() => expect(settled.events).toHaveLength(1_000), { timeoutMs: 20_000 });
      const late = settled.events.map(({ lateMs }) => lateMs).sort((a, b) => a - b);
      expect(late[0]).toBeGreaterThanOrEqual(0);
      const took = Math.min(MOST_TAKEN_MS, Math.round(waited() - waitedBefore));
      seconds.push(`${late[989]} (${took})`);
      return (late[989] ?? Infinity) - took;
    };
    const seconds: string[] = [];
    const rounds: number[] = [];
    // A machine with other work stands still periodically: the test counts the best second.
    for (let i = 0; i < 30 && Math.min(Infinity, ...rounds) > 20; i++) rounds.push(await second());
    settled.stop();
    process.stdout.write(`    lateness of the 99th percentile (and wait for a core), ms: ${seconds.join(', ')}\n`);
    expect(Math.min(...rounds)).toBeLessThanOrEqual(20);
  }, 180_000);

  it(
    `${TASKS} tasks due at one millisecond never hold Redis for more than 5 ms`,
    async () => {
      let ran = 0;
      bench.tasks.handle('t', () => void (ran += 1));
      await bench.raw.config('SET', 'slowlog-log-slower-than', '5000');
      await bench.raw.config('SET', 'slowlog-max-len', '1000');
      /** @returns the share of scripts that took more than 5 ms */
      const round = async (): Promise<number> => {
        ran = 0;
        await scheduleAtOnce(bench);
        await bench.raw.call('SLOWLOG', 'RESET');
        await bench.raw.config('RESETSTAT');
        const began = performance.now();
        bench.work();
        // In a later round the worker sleeps until the times that the tasks had at first. One more task wakes it.
        await bench.tasks.schedule('t', { order: TASKS });
        await eventually(() => expect(ran).toBe(TASKS + 1), { timeoutMs: 120_000 });
        const seconds = (performance.now() - began) / 1_000;
        await sleep(50);
        const slow = (await bench.raw.call('SLOWLOG', 'GET', '1000')) as [number, number, number, string[]][];
        const ours = slow.filter(([, , , [command]]) => /evalsha/i.test(command ?? ''));
        const longest = Math.max(0, ...ours.map(([, , micros]) => micros));
        process.stdout.write(
          `    ${TASKS} tasks in ${seconds.toFixed(2)} s; ${ours.length} scripts above 5 ms (${longest} us)\n`,
        );
        // No script was given more than a hundred of them: a take and an acknowledgement each.
        const calls = Number(/cmdstat_evalsha:calls=(\d+)/.exec(await bench.raw.info('commandstats'))?.[1]);
        expect(calls).toBeGreaterThanOrEqual(TASKS / 50);
        return ours.length / calls;
      };
      // A machine with other work stops Redis in the middle of scripts: that shows in few of them, and the test counts the best round.
      const shares: number[] = [];
      for (let i = 0; i < 5 && Math.min(Infinity, ...shares) > 0.03; i++) shares.push(await round());
      expect(Math.min(...shares)).toBeLessThanOrEqual(0.03);
    },
    size(180_000, 900_000),
  );
});
