import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { openBench, quiet } from '../../lock/test/support';

const DIST = join(__dirname, '..', '..', '..', 'dist', 'libs', 'scheduled-lock');
const CRON_SLOTS = process.env.LUANEST_LONG === '1' ? 1_000 : 20;

class Node {
  output = '';
  private constructor(readonly child: ChildProcess) {
    child.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
  }
  static start(env: Record<string, string>): Node {
    if (!existsSync(DIST)) throw new Error('These tests start real processes, run "npm run build" first.');
    const all = { ...process.env, REDIS_URL: sharedRedisUrl(), ...env };
    return new Node(spawn(process.execPath, [join(__dirname, 'node.cjs')], { env: all }));
  }
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    return eventually(() => pattern.exec(this.output) ?? Promise.reject(new Error(`not printed: ${this.output}`)), {
      timeoutMs: 30_000,
    });
  }
}

const nodes: Node[] = [];
const start = (env: Record<string, string>): Node => {
  const node = Node.start(env);
  nodes.push(node);
  return node;
};
let client: Redis;

beforeAll(() => {
  client = quiet(new Redis(sharedRedisUrl()));
});
afterEach(() => {
  for (const { child } of nodes.splice(0)) child.kill('SIGKILL');
});
afterAll(() => client.disconnect());

it(
  'three processes whose clocks differ by up to 800 ms run every job once for each slot',
  async () => {
    const prefix = uniquePrefix();
    const three = [-400, 0, 400].map((skew) => start({ SKEW_MS: String(skew), PREFIX: prefix }));
    await Promise.all(three.map((node) => node.prints(/ready/)));
    const slotsOf = async (job: string): Promise<number[]> =>
      (await client.lrange(`${prefix}:runs:${job}`, 0, -1)).map(Number);
    await eventually(async () => expect((await slotsOf('cron100')).length).toBeGreaterThanOrEqual(CRON_SLOTS), {
      timeoutMs: CRON_SLOTS * 1_000 + 30_000,
      everyMs: 500,
    });
    for (const [job, period] of [
      ['cron1', 1_000],
      ['cron100', 1_000],
      ['every1', 200],
      ['every100', 200],
    ] as const) {
      const slots = await slotsOf(job);
      expect(slots.length).toBeGreaterThan(10);
      expect(new Set(slots).size).toBe(slots.length);
      for (const slot of slots) expect(slot % period).toBe(0);
      if (period === 1_000) {
        const missing = ((slots.at(-1) as number) - (slots[0] as number)) / period + 1 - slots.length;
        expect([job, missing]).toEqual([job, 0]);
      }
    }
  },
  CRON_SLOTS * 1_000 + 60_000,
);

it('a holder that was stopped beyond its lease knows it in the first turn after SIGCONT', async () => {
  const prefix = uniquePrefix();
  const holder = start({ MODE: 'hold', PREFIX: prefix });
  const [, fence] = await holder.prints(/fence (\d+)/);
  const bench = await openBench(client.duplicate(), {}, { prefix });
  holder.child.kill('SIGSTOP');
  const next = await bench.locks.acquire('held', { waitMs: 10_000 });
  expect(next.fence).toBeGreaterThan(Number(fence));
  holder.child.kill('SIGCONT');
  const [, thrown, aborted, released] = await holder.prints(/woke (\S+) (\S+) (\S+)\n/);
  expect([thrown, aborted, released]).toEqual(['LOCK_LOST', 'true', 'lost']);
  expect(await next.release()).toBe('released');
  bench.close();
});
