import { ConsoleLogger, Logger } from '@nestjs/common';
import { startRedis } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { Redis } from 'ioredis';
import { Wakes } from '../src/activity/wakes';
import { payoutAccessOf } from '../src/activity/payout-access';
import { grabPacket } from '../src/grabs/grab.scripts';
import { figures, openBench, QUICK, quiet, servers, type Bench } from './support';

/** Searches are so rare that only wakes can explain that winners are paid soon. */
const NO_SEARCH = { ...QUICK, discoverMs: 60_000 };

/** Wins a packet as a process that died before it woke the activity, or as one that wakes nothing. */
async function grabWithoutWake(bench: Bench, activityId: string, userId: string): Promise<void> {
  const { tries = '', ...keys } = { ...bench.keysOf(activityId), tries: bench.bucketsOf(activityId, 1)[0]?.tries };
  const reply = await bench.registry.run(grabPacket, { keys: { ...keys, tries }, args: { userId, mode: 0 } });
  expect(reply.outcome).toBe('won');
}

function payTo(bench: Bench, paid: string[], options: object) {
  return bench.payouts.run(({ activityId, userId }) => void paid.push(`${activityId} ${userId}`), options);
}

describe.each(servers)('a payout run finds winners on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(() => void Logger.overrideLogger(new ConsoleLogger({ logLevels: [] })));
  beforeEach(async () => {
    bench = await openBench(connect());
  });
  afterEach(() => bench.close());
  afterAll(() => void Logger.overrideLogger(new ConsoleLogger()));

  it.each([1, 4])('by wakes, without a search (%i buckets)', async (buckets) => {
    for (const id of ['a', 'b', 'c']) await bench.packets.create({ ...figures(id, 9), buckets });
    const paid: string[] = [];
    const run = payTo(bench, paid, NO_SEARCH);
    await eventually(async () => expect((await bench.packets.grab('a', 'first')).code).toMatch(/[01]/));
    await eventually(() => expect(paid).toEqual(['a first']));
    await bench.packets.grab('b', 'second');
    await eventually(() => expect(paid).toEqual(['a first', 'b second']));
    expect(run.activities).not.toContain('c');
    await run.stop();
  });

  it('by the search, if the process that won died before the wake', async () => {
    for (let i = 0; i < 100; i++) await bench.packets.create(figures(`rain-${i}`, 2));
    const paid: string[] = [];
    const run = payTo(bench, paid, QUICK);
    await eventually(async () => expect(await bench.raw.exists(bench.indexKey)).toBe(1));
    // Later than the first search, which looks at all activities.
    await bench.packets.grab('rain-0', 'woken');
    await eventually(() => expect(paid).toEqual(['rain-0 woken']));
    for (const i of [1, 50, 99]) await grabWithoutWake(bench, `rain-${i}`, 'dead');
    await eventually(() => expect(paid.slice(1).sort()).toEqual(['rain-1 dead', 'rain-50 dead', 'rain-99 dead']));
    await run.stop();
  });

  it('by the first search, if nobody ran payouts when they won', async () => {
    for (let i = 0; i < 200; i++) await bench.packets.create(figures(`early-${i}`, 2));
    for (const i of [0, 77, 199]) await bench.packets.grab(`early-${i}`, 'u');
    const paid: string[] = [];
    const run = payTo(bench, paid, NO_SEARCH);
    await eventually(() => expect(paid.sort()).toEqual(['early-0 u', 'early-199 u', 'early-77 u']));
    await run.stop();
  });

  it('by a search of all activities, after Redis lost the list of woken activities', async () => {
    for (let i = 0; i < 150; i++) await bench.packets.create(figures(`lost-${i}`, 2));
    const paid: string[] = [];
    // At 32 looks in each search, a whole round would take 2 s.
    const run = payTo(bench, paid, { ...QUICK, discoverMs: 400 });
    await bench.packets.grab('lost-0', 'a');
    await eventually(() => expect(paid).toEqual(['lost-0 a']));
    for (const i of [3, 60, 149]) await grabWithoutWake(bench, `lost-${i}`, 'u');
    await bench.raw.del(bench.wokenKey);
    await eventually(() => expect(paid).toHaveLength(4), { timeoutMs: 1_500 });
    await run.stop();
  });

  it('by a repeat of the grab, if the first reply was lost', async () => {
    await bench.packets.create(figures('repeated', 2));
    const paid: string[] = [];
    const run = payTo(bench, paid, NO_SEARCH);
    await bench.packets.create(figures('first', 1));
    await bench.packets.grab('first', 'u');
    await eventually(() => expect(paid).toEqual(['first u']));
    await grabWithoutWake(bench, 'repeated', 'u');
    expect(await bench.packets.grab('repeated', 'u')).toMatchObject({ outcome: 'already-won' });
    await eventually(() => expect(paid).toEqual(['first u', 'repeated u']));
    await run.stop();
  });

  it('by every run: also by a second one, and by both if one of them stops', async () => {
    const other = await openBench(connect(), { prefix: bench.prefix });
    await bench.packets.create(figures('two', 999));
    const paid: string[] = [];
    const [run, second] = [payTo(bench, paid, NO_SEARCH), payTo(other, paid, NO_SEARCH)];
    let grabs = 0;
    // A run that starts after a wake finds nothing to pay if the other run has paid it.
    await eventually(async () => {
      await bench.packets.grab('two', `user-${grabs++}`);
      expect(run.activities.length + second.activities.length).toBe(2);
    });
    await eventually(() => expect(paid).toHaveLength(grabs));
    await run.stop();
    await bench.packets.grab('two', 'last');
    await eventually(() => expect(paid.slice(grabs)).toEqual(['two last']));
    await second.stop();
    other.close();
  });

  it('while the list of woken activities cannot be used, by the search; afterwards by wakes again', async () => {
    await bench.packets.create(figures('broken', 9));
    await bench.raw.set(bench.wokenKey, 'not a zset');
    const paid: string[] = [];
    const run = payTo(bench, paid, QUICK);
    await bench.packets.grab('broken', 'a');
    await eventually(() => expect(paid).toEqual(['broken a']));
    await bench.raw.del(bench.wokenKey);
    await bench.packets.grab('broken', 'b');
    await eventually(() => expect(paid).toEqual(['broken a', 'broken b']));
    await run.stop();
  });

  it('lists each woken activity once, with scores that only grow, also if a clock was an hour ahead', async () => {
    const { index } = payoutAccessOf(bench.packets);
    const far = Date.now() + 3_600_000;
    await bench.raw.zadd(bench.wokenKey, Date.now() - 3_600_000, 'old', far, 'ahead');
    await index.wake(['x', 'y']);
    expect(await bench.raw.zrange(bench.wokenKey, '0', '-1')).toEqual(['old', 'ahead', 'x', 'y']);
    expect(await bench.raw.pttl(bench.wokenKey)).toBeGreaterThan(86_000_000);
    const first = await index.wokenAfter(far, 1);
    expect(first).toMatchObject({ lost: false, ids: ['x'] });
    const rest = await index.wokenAfter(first.last, 9);
    expect(rest).toMatchObject({ lost: false, ids: ['y'] });
    expect(await index.wokenAfter(rest.last, 9)).toEqual({ lost: false, last: rest.last, ids: [] });
    await index.wake(['x']);
    expect(await index.wokenAfter(rest.last, 9)).toMatchObject({ lost: false, ids: ['x'] });
    await bench.raw.del(bench.wokenKey);
    expect(await index.wokenAfter(rest.last, 9)).toEqual({ lost: true, last: 0, ids: [] });
    expect(await index.wokenAfter(0, 9)).toEqual({ lost: false, last: 0, ids: [] });
  });
});

describe('wakes that fail', () => {
  const ids = Array.from({ length: 2_500 }, (_, i) => `a${i}`);

  function openWakes(wake: (activityIds: readonly string[]) => Promise<void>) {
    const logger = { log: jest.fn(), warn: jest.fn() };
    return { logger, wakes: new Wakes({ wake }, logger) };
  }

  it('are repeated if they did not reach Redis or were refused, and not if the script failed', async () => {
    const server = await startRedis();
    const bench = await openBench(quiet(new Redis(server.port)), { deadlineMs: 5_000 });
    try {
      const { index } = payoutAccessOf(bench.packets);
      const calls: string[] = [];
      const { logger, wakes } = openWakes((activityIds) => {
        calls.push(...activityIds);
        return index.wake(activityIds);
      });
      await bench.raw.set(bench.wokenKey, 'not a zset');
      wakes.wake('a');
      await eventually(() =>
        expect(logger.warn.mock.calls).toEqual([[expect.stringMatching(/paid minutes late.*WRONGTYPE/)]]),
      );
      wakes.wake('b');
      await bench.raw.del(bench.wokenKey);
      await bench.raw.replicaof('127.0.0.1', '1');
      wakes.wake('c');
      await eventually(() => expect(logger.warn).toHaveBeenLastCalledWith(expect.stringMatching(/READONLY/)));
      await bench.raw.replicaof('NO', 'ONE');
      await eventually(() => expect(logger.log).toHaveBeenCalledTimes(1));
      await eventually(async () => expect(await bench.raw.zrange(bench.wokenKey, '0', '-1')).toContain('c'));
      expect(calls.filter((id) => id === 'a')).toEqual(['a']);
      wakes.close();
    } finally {
      bench.close();
      await server.stop();
    }
  });

  it('are sent a last time when the app shuts down, in calls of 1,000', () => {
    const calls: (readonly string[])[] = [];
    const { wakes } = openWakes((activityIds) => Promise.resolve(void calls.push(activityIds)));
    for (const id of ids) wakes.wake(id);
    wakes.close();
    expect(calls.map(({ length }) => length)).toEqual([1, 1_000, 1_000, 499]);
    expect(new Set(calls.flat()).size).toBe(2_500);
  });
});

describe('what open activities cost while nobody grabs', () => {
  it('does not grow with their number, and is at most 100 commands a second', async () => {
    const server = await startRedis();
    const bench = await openBench(quiet(new Redis(server.port)));
    try {
      await Promise.all(Array.from({ length: 300 }, (_, i) => bench.packets.create(figures(`group-${i}`, 2))));
      const commands = async (): Promise<number> =>
        Number(/total_commands_processed:(\d+)/.exec(await bench.raw.info('stats'))?.[1]);
      const run = bench.payouts.run(() => undefined);
      await bench.packets.grab('group-7', 'u');
      expect(await bench.raw.zrange(bench.wokenKey, '0', '-1')).toEqual(['group-7']);
      // The run ends the reading when nothing more was won.
      await eventually(() => expect(run.activities).toEqual(['group-7']));
      await eventually(() => expect(run.activities).toEqual([]), { timeoutMs: 20_000 });
      const [before, startedMs] = [await commands(), performance.now()];
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      const perSecond = (((await commands()) - before) * 1_000) / (performance.now() - startedMs);
      expect(perSecond).toBeGreaterThan(5);
      expect(perSecond).toBeLessThan(100);
      await run.stop();
    } finally {
      bench.close();
      await server.stop();
    }
  });

  it('one call wakes an activity in which many packets are won at the same time', async () => {
    const server = await startRedis();
    const bench = await openBench(quiet(new Redis(server.port)));
    try {
      await bench.packets.create(figures('rain', 500));
      await Promise.all(Array.from({ length: 500 }, (_, i) => bench.packets.grab('rain', `u${i}`)));
      const zadds = async (): Promise<number> =>
        Number(/cmdstat_zadd:calls=(\d+)/.exec(await bench.raw.info('commandstats'))?.[1]);
      // One for the index of activities, and at most two for the wakes.
      expect(await zadds()).toBeLessThan(4);
      await eventually(async () => expect(await zadds()).toBe(3));
    } finally {
      bench.close();
      await server.stop();
    }
  });
});
