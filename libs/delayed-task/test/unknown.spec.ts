import { Logger } from '@nestjs/common';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { inventory, listen, openBench, redisNow, type Bench } from './support';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('a task for whose name a worker has no handler', () => {
  let bench: Bench;
  let warnings: jest.SpyInstance;
  let errors: jest.SpyInstance;
  beforeEach(async () => {
    warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    bench = await openBench(standaloneClient(), { attempts: 2, backoff: { delayMs: 10 } });
  });
  afterEach(async () => {
    await bench.close();
    jest.restoreAllMocks();
  });

  /** Schedules a task that no worker has known since so long ago. No worker may run yet. */
  async function unknownFor(id: string, ms: number): Promise<void> {
    await bench.tasks.schedule('new', null, { id, delayMs: HOUR });
    const now = await redisNow(bench.raw);
    await bench.raw.hset(bench.partitionOf(id).runs, id, `0 b x ${now} 0 ${now - ms} `);
    await bench.tasks.reschedule(id, { delayMs: 0 });
  }

  it('is done by the one process of four that has the handler, and spends no attempt', async () => {
    const settled = listen('attemptSettled');
    const old = await Promise.all(
      [1, 2, 3].map(() => openBench(standaloneClient(), { attempts: 2 }, { prefix: bench.prefix })),
    );
    for (const worker of [bench, ...old]) worker.tasks.handle('old', () => undefined);
    const attempts: number[] = [];
    bench.tasks.handle('new', (_payload, task) => void attempts.push(task.attempt));
    for (const worker of [...old, bench]) worker.work();
    await bench.tasks.scheduleMany(Array.from({ length: 200 }, (_, i) => ({ name: 'new', id: `n${i}` })));
    await eventually(() => expect(attempts).toHaveLength(200), { timeoutMs: 60_000 });
    expect(new Set(attempts)).toEqual(new Set([1]));
    await eventually(async () =>
      expect(await inventory(bench)).toEqual({ due: [], leased: [], dead: [], problems: [] }),
    );
    const unknown = settled.events.filter(({ status }) => status === 'unknown');
    expect(unknown.length).toBeGreaterThan(0);
    settled.stop();
    for (const worker of old) await worker.close();
    // One warning for a name and process, however often it came.
    const lines = warnings.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('"new"'));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(3);
    expect(lines[0]).toMatch(/^Queue default: this process has no handler for tasks named "new"/);
  }, 90_000);

  it('waits longer each time, and keeps its attempts and its due time', async () => {
    const settled = listen('attemptSettled');
    bench.tasks.handle('old', () => undefined);
    bench.work();
    await bench.tasks.schedule('new', null, { id: 'a' });
    await eventually(() => expect(settled.events.length).toBeGreaterThanOrEqual(3));
    for (const event of settled.events) {
      expect(event).toMatchObject({ id: 'a', name: 'new', status: 'unknown', attempt: 1 });
    }
    const late = settled.events.map(({ lateMs }) => lateMs);
    expect([...late].sort((a, b) => a - b)).toEqual(late);
    expect(late[2]).toBeGreaterThan(90);
    await eventually(async () =>
      expect(await bench.tasks.get('a')).toMatchObject({ state: 'waiting', attemptsMade: 0 }),
    );
    settled.stop();
  });

  it('waits for at most 10 s each time', async () => {
    await unknownFor('a', HOUR);
    const settled = listen('attemptSettled');
    bench.tasks.handle('old', () => undefined);
    const at = await redisNow(bench.raw);
    bench.work();
    await eventually(() => expect(settled.events).toMatchObject([{ status: 'unknown' }]));
    settled.stop();
    const view = await bench.tasks.get('a');
    expect(view).toMatchObject({ state: 'waiting', attemptsMade: 0 });
    expect((view?.atMs ?? 0) - at).toBeGreaterThanOrEqual(5_000);
    expect((view?.atMs ?? 0) - (await redisNow(bench.raw))).toBeLessThanOrEqual(10_000);
  });

  it('is a dead letter after a day, and can be replayed', async () => {
    await unknownFor('a', DAY);
    const settled = listen('attemptSettled');
    bench.tasks.handle('old', () => undefined);
    bench.work();
    await eventually(async () => expect((await bench.tasks.stats()).dead).toBe(1));
    expect((await bench.tasks.deadLetters()).items).toMatchObject([
      {
        id: 'a',
        name: 'new',
        error: expect.stringMatching(/^SetupError: For a day, only workers without a handler/) as string,
      },
    ]);
    await eventually(() =>
      expect(settled.events.at(-1)).toMatchObject({ status: 'dead', error: { code: 'UNKNOWN_TASK' } }),
    );
    // The attempt was handed back, so the line does not count it.
    expect(errors.mock.calls.map(([line]) => String(line))).toEqual([
      `Queue default: task "new" (id "a") is a dead letter, because for a day no worker that took it had a handler for its name. Add the handler to a worker, then replay the dead letter.`,
    ]);
    bench.tasks.handle('new', () => undefined);
    expect(await bench.tasks.replay(['a'])).toBe(1);
    await eventually(async () => expect(await bench.tasks.get('a')).toBeUndefined());
    settled.stop();
  });

  it('keeps the attempts and the error of an earlier failure', async () => {
    bench.tasks.handle('t', () => {
      throw new Error('torn');
    });
    bench.work();
    await bench.tasks.schedule('t', null, { id: 'a', attempts: 3, backoff: { delayMs: HOUR } });
    await eventually(async () =>
      expect(await bench.tasks.get('a')).toMatchObject({ state: 'waiting', attemptsMade: 1 }),
    );
    await bench.close();
    const other = await openBench(standaloneClient(), {}, { prefix: bench.prefix });
    other.tasks.handle('other', () => undefined);
    const settled = listen('attemptSettled');
    other.work();
    await other.tasks.reschedule('a', { delayMs: 0 });
    await eventually(() => expect(settled.events.map(({ status }) => status)).toContain('unknown'));
    await eventually(async () =>
      expect(await other.tasks.get('a')).toMatchObject({ state: 'waiting', attemptsMade: 1, error: 'Error: torn' }),
    );
    settled.stop();
    await other.close();
  });
});
