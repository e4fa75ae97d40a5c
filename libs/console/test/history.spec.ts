import { channel } from 'node:diagnostics_channel';
import type { Redis } from 'ioredis';
import { DelayedTaskEvents } from 'luanest/delayed-task';
import { LockEvents } from 'luanest/lock';
import { OnceEvents } from 'luanest/once';
import { RateLimitEvents } from 'luanest/rate-limit';
import { ScheduledLockEvents } from 'luanest/scheduled-lock';
import type { ScriptRegistry } from 'luanest/script-registry';
import { StreamConsumerEvents } from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { openRegistry, standaloneClient } from '../../script-registry/test/support';
import { replaceTime } from '../../internal/src';
import { CHANNELS, History, readProcesses } from '../src/sections/history';
import { overviewSection } from '../src/sections/overview';
import { allRows, sectionOf } from './section-support';

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];

describe('history', () => {
  let client: Redis;
  let registry: ScriptRegistry;
  let prefix: string;
  const histories: History[] = [];
  const open = (name: string): History => {
    const history = new History(registry, name);
    histories.push(history);
    history.start();
    return history;
  };
  const publish = (name: string, event: object): void => channel(name).publish(event);
  const settled = (status: string): void => publish('luanest:delayed-task:attempt.settled', { status });

  beforeEach(async () => {
    client = standaloneClient();
    prefix = uniquePrefix();
    registry = await openRegistry(client, { preload: 'required', prefix });
  });
  afterEach(async () => {
    for (const history of histories.splice(0)) await history.close();
    registry.close();
    client.disconnect();
  });

  it('listens to channels that the libs have', () => {
    const all = [
      ...[DelayedTaskEvents, LockEvents, OnceEvents, RateLimitEvents],
      ...[ScheduledLockEvents, StreamConsumerEvents],
    ].flatMap((channels): string[] => Object.values(channels));
    for (const name of Object.keys(CHANNELS)) expect(all).toContain(name);
  });

  it('adds the counts of all processes, and writes only if something happened', async () => {
    const [one, other, idle] = [open('a:1'), new History(registry, 'b:2'), new History(registry, 'c:3')];
    settled('done');
    settled('done');
    settled('lost');
    publish('luanest:stream-consumer:messages.handled', { ids: ['1', '2', '3'] });
    publish('luanest:rate-limit:request.refused', {});
    await one.close();
    other.start();
    settled('done');
    publish('luanest:delayed-task:tasks.buried', { count: 5 });
    await other.close();
    idle.start();
    await idle.close();
    const series = await other.read(10);
    const sums = Object.fromEntries(series.map(({ section, points }) => [section, points.map(([, counts]) => counts)]));
    expect(sums).toEqual({ queues: expect.any(Array) as [], streams: [{ handled: 3 }], limits: [{ refused: 1 }] });
    const total = (name: string) => (sums.queues ?? []).reduce((sum, counts) => sum + (counts[name] ?? 0), 0);
    expect({ done: total('done'), dead: total('dead') }).toEqual({ done: 3, dead: 5 });
    for (const { points } of series) {
      for (const [atMs] of points) {
        expect(atMs % MINUTE_MS).toBe(0);
        expect(Date.now() - atMs).toBeLessThan(3 * MINUTE_MS);
      }
    }
    expect((await readProcesses(registry, 10)).map(({ process }) => process)).toEqual(['b:2', 'a:1']);
    const rows = await allRows(sectionOf(overviewSection, { ScriptRegistry: registry }), ['overview', 'processes']);
    expect(rows.map(({ process, current }) => [process, current])).toEqual([
      [expect.stringMatching(new RegExp(`:${process.pid}$`)), true],
      ...[
        ['b:2', false],
        ['a:1', false],
      ],
    ]);
  });

  it('has a bounded size, and ends after eight days', async () => {
    const history = open('a:1');
    settled('done');
    await history.close();
    const keys = await client.keys(`${prefix}:*`);
    expect(keys.map((key) => key.slice(prefix.length)).sort()).toEqual([
      expect.stringMatching(/^:console:\{history\}:day:\d+$/),
      ':console:{history}:processes',
      ':console:{history}:seen',
    ]);
    for (const key of keys) {
      const ttlMs = await client.pttl(key);
      expect(ttlMs).toBeGreaterThan(7 * DAY_MS);
      expect(ttlMs).toBeLessThanOrEqual(8 * DAY_MS);
    }
    const day = keys.find((key) => key.includes(':day:')) ?? '';
    expect(await client.strlen(day)).toBeLessThanOrEqual(115_200);
  });

  it('keeps what it could not write, and adds it once', async () => {
    const history = open('a:1');
    const day = `${prefix}:console:{history}:day:${Math.floor(Date.now() / DAY_MS)}`;
    await client.lpush(day, 'another type');
    settled('done');
    await history.close();
    expect(await readProcesses(registry, 1)).toEqual([]);
    await client.del(day);
    await Promise.all([history.close(), history.close()]);
    expect(await history.read(10)).toMatchObject([{ section: 'queues', points: [[expect.any(Number), { done: 1 }]] }]);
    await history.close();
    expect(await history.read(10)).toMatchObject([{ section: 'queues', points: [[expect.any(Number), { done: 1 }]] }]);
  });
});

describe('history by a clock of the test', () => {
  it('writes each minute soon after its end, one call a minute, and joins points of a long time', async () => {
    const client = standaloneClient();
    const registry = await openRegistry(client, { preload: 'required', prefix: uniquePrefix() });
    const timers: { run: () => void; ms: number }[] = [];
    let nowMs = Date.UTC(2026, 0, 5, 23, 59, 30);
    const restore = replaceTime({
      nowMs: () => nowMs,
      monotonicMs: () => performance.now(),
      measuredAt: (monotonicMs) => monotonicMs,
      setTimer: (run, ms) => {
        timers.push({ run, ms });
        return { ref: () => undefined, unref: () => undefined };
      },
      setRepeatingTimer: (run, ms) => setInterval(run, ms),
      setTimeLimit: (run, ms) => setTimeout(run, ms),
      clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
    });
    try {
      const history = new History(registry, 'a:1');
      history.start();
      const settle = (): void => channel('luanest:delayed-task:attempt.settled').publish({ status: 'done' });
      settle();
      settle();
      expect(timers).toHaveLength(1);
      expect(timers[0]?.ms).toBeGreaterThanOrEqual(30_000);
      expect(timers[0]?.ms).toBeLessThanOrEqual(35_001);
      nowMs += 32_000;
      settle();
      timers[0]?.run();
      const counts = async (minutes: number) =>
        (await history.read(minutes)).flatMap(({ points }) => points.map(([atMs, { done }]) => [atMs, done]));
      const [evening, midnight] = [Date.UTC(2026, 0, 5, 23, 59), Date.UTC(2026, 0, 6)];
      await eventually(async () =>
        expect(await counts(5)).toEqual([
          [evening, 2],
          [midnight, 1],
        ]),
      );
      expect(await counts(1)).toEqual([[midnight, 1]]);
      expect(await counts(10_080)).toEqual([[Math.floor(evening / 420_000) * 420_000, 3]]);
      await history.close();
    } finally {
      restore();
      registry.close();
      client.disconnect();
    }
  });
});
