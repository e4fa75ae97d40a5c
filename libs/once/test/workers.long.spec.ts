import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Delivery } from '../src/once.types';
import { note } from '../../../test/support/fault-notes';
import { forkWorker } from '../../../test/support/fork-worker';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import type { WorkerJob } from './worker';
import { size } from '../../../test/support/size';

type Counts = Record<'ran' | 'duplicate' | 'in-progress', number>;

const MESSAGES = size(400, 10_000);

describe('workers in separate processes', () => {
  let raw: Redis;
  const children = new Set<ChildProcess>();
  const idle: ChildProcess[] = [];
  beforeAll(() => {
    raw = standaloneClient();
  });
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    raw.disconnect();
  });

  /** Returns a worker that has done its job, or a new one. */
  function start(): ChildProcess {
    const child = idle.pop() ?? forkWorker(join(__dirname, 'worker.ts'));
    children.add(child);
    return child;
  }

  /** Gives a worker a job. @returns its next message: the counts, or that it stopped where it should */
  async function give(child: ChildProcess, job: Omit<WorkerJob, 'url'>): Promise<Counts> {
    const answer = once(child, 'message') as Promise<[Counts]>;
    child.send({ ...job, url: sharedRedisUrl() });
    return (await answer)[0];
  }

  async function pushes(prefix: string): Promise<Record<string, string>> {
    return raw.hgetall(`${prefix}:pushed`);
  }

  function shuffled(ids: readonly string[]): string[] {
    return ids
      .map((id) => [Math.random(), id] as const)
      .sort(([a], [b]) => a - b)
      .map(([, id]) => id);
  }

  it('ten workers push each of many messages once, in any order, including redeliveries', async () => {
    const prefix = uniquePrefix();
    const ids = Array.from({ length: MESSAGES }, (_, i) => `m${i}`);
    const redelivered = ids.filter((_, i) => i % 10 === 0);
    const terms = { delivery: 'at-least-once', leaseMs: 60_000, parallel: 64 } as const;
    const workers = Array.from({ length: 10 }, start);
    // None begins before the last one has started.
    await Promise.all(workers.map((child) => give(child, { prefix, ids: [], ...terms })));
    const counts = await Promise.all(
      workers.map((child) => give(child, { prefix, ids: shuffled([...ids, ...redelivered]), ...terms })),
    );
    idle.push(...workers);
    expect(counts.reduce((sum, { ran }) => sum + ran, 0)).toBe(MESSAGES);
    expect(counts.reduce((sum, { ran, duplicate, ...rest }) => sum + ran + duplicate + rest['in-progress'], 0)).toBe(
      11 * MESSAGES,
    );
    const pushed = await pushes(prefix);
    note('messages, tasks, slots and grabs checked one by one', MESSAGES);
    note('lost', MESSAGES - Object.keys(pushed).length);
    expect(Object.keys(pushed)).toHaveLength(MESSAGES);
    expect(Object.values(pushed).filter((count) => count !== '1')).toEqual([]);
    await raw.del(`${prefix}:pushed`);
  }, 180_000);

  const points = ['before-claim', 'after-claim', 'after-push', 'after-confirm'] as const;
  const cases = (['at-least-once', 'at-most-once'] as const).flatMap((delivery) =>
    points.map((stopAt) => [delivery, stopAt] as const),
  );
  it.each<readonly [Delivery, (typeof points)[number]]>(cases)(
    '%s, a worker killed %s',
    async (delivery, stopAt) => {
      const prefix = uniquePrefix();
      const job = { prefix, ids: ['m'], delivery, leaseMs: 1_500, parallel: 1 };
      const [victim, other] = [start(), start()];
      await give(victim, { ...job, stopAt });
      const dead = once(victim, 'exit');
      victim.kill('SIGKILL');
      note('workers killed (SIGKILL)');
      await dead;
      const deadAt = performance.now();
      let runs = 0;
      // As a broker does that delivers again what was not acknowledged.
      const counts = await eventually(
        async () => {
          const last = await give(other, job);
          runs += last.ran;
          expect(last['in-progress']).toBe(0);
          return last;
        },
        { timeoutMs: 40_000, everyMs: 100 },
      );
      // The lease, a few redeliveries that a busy machine starts slowly, and nothing like the retention.
      expect(performance.now() - deadAt).toBeLessThan(45_000);
      const count = Number((await pushes(prefix))['m'] ?? 0);
      const expected = {
        'at-least-once': { 'before-claim': 1, 'after-claim': 1, 'after-push': 2, 'after-confirm': 1 },
        'at-most-once': { 'before-claim': 1, 'after-claim': 0, 'after-push': 1, 'after-confirm': 1 },
      };
      expect(count).toBe(expected[delivery][stopAt]);
      idle.push(other);
      expect(counts.ran + counts.duplicate).toBe(1);
      expect(runs).toBe(count - (stopAt === 'after-push' || stopAt === 'after-confirm' ? 1 : 0));
      await raw.del(`${prefix}:pushed`);
    },
    120_000,
  );
});
