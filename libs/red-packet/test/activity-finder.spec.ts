import { ConsoleLogger, Logger } from '@nestjs/common';
import { deadLetter } from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import type { ActivityIndex } from '../src/activity/activity-index';
import { payoutAccessOf } from '../src/activity/payout-access';
import { ActivityFinder } from '../src/payouts/activity-finder';
import { PayoutRunner } from '../src/payouts/payout-runner';
import { figures, openBench, QUICK, servers, type Bench } from './support';

const [[, standalone]] = servers as [[string, (typeof servers)[number][1]]];

describe('searches of a payout run', () => {
  let bench: Bench;
  let index: ActivityIndex;
  let look: jest.SpiedFunction<ActivityIndex['look']>;
  /** Activities that were looked at since the last call. */
  let looked: () => number;
  const found: string[] = [];
  beforeAll(() => void Logger.overrideLogger(new ConsoleLogger({ logLevels: [] })));
  beforeEach(async () => {
    bench = await openBench(standalone());
    ({ index } = payoutAccessOf(bench.packets));
    look = jest.spyOn(index, 'look');
    looked = () => look.mock.calls.splice(0).length;
    found.length = 0;
  });
  afterEach(() => bench.close());
  afterAll(() => void Logger.overrideLogger(new ConsoleLogger()));

  const openFinder = (): ActivityFinder => new ActivityFinder(index, (activityId) => void found.push(activityId));
  const create = (count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, (_, i) => bench.packets.create(figures(`quiet-${i}`, 2))));

  it('look at 32 activities each, also while one of all activities is damaged, and find it when it is repaired', async () => {
    await create(99);
    await bench.packets.create(figures('damaged', 2));
    await bench.packets.grab('damaged', 'u');
    const { meta } = bench.keysOf('damaged');
    await bench.raw.rename(meta, `${meta}-kept`);
    await bench.raw.set(meta, 'not a hash');
    const finder = openFinder();
    await finder.poll();
    await expect(finder.search()).rejects.toMatchObject({ redisCode: 'WRONGTYPE' });
    expect(looked()).toBe(100);
    await expect(finder.search()).rejects.toMatchObject({ redisCode: 'WRONGTYPE' });
    expect(looked()).toBe(33);
    await bench.raw.rename(`${meta}-kept`, meta);
    await finder.search();
    expect(found).toEqual(['damaged']);
    expect(looked()).toBe(33);
    await finder.search();
    expect(looked()).toBe(32);
  });

  it('look at all activities if so many were woken since the last poll that some may have left the list', async () => {
    await create(40);
    const finder = openFinder();
    await index.wake(['first']);
    await finder.poll();
    await finder.search();
    looked();
    // Wakes, however old, stay in the list until 10,000 others follow: a clock may be set forward, or this process may pause.
    const [, score = '0'] = await bench.raw.zrange(bench.wokenKey, '0', '-1', 'WITHSCORES');
    const woken = Array.from({ length: 9_998 }, (_, i) => [(i + 1) / 10_000 - 600_000 + Number(score), `w${i}`]);
    await bench.raw.zadd(bench.wokenKey, ...woken.flat().map(String));
    await index.wake(['a']);
    expect(await bench.raw.zcard(bench.wokenKey)).toBe(10_000);
    await finder.poll();
    expect(found.splice(0)).toEqual(['a']);
    await finder.search();
    expect(looked()).toBe(32);

    const [, last = '0'] = await bench.raw.zrange(bench.wokenKey, '-1', '-1', 'WITHSCORES');
    await bench.raw.zadd(bench.wokenKey, ...woken.flatMap(([, id], i) => [String(Number(last) + 1 + i), String(id)]));
    await index.wake(['b', 'c', 'd']);
    expect(await bench.raw.zcard(bench.wokenKey)).toBe(10_000);
    await finder.poll();
    expect(found).toHaveLength(10_000);
    await finder.search();
    expect(looked()).toBe(40);
  });

  it('do not delay the repeat of a check that failed', async () => {
    await bench.packets.create(figures('healthy', 2));
    await bench.packets.create(figures('unavailable', 2));
    const paid: string[] = [];
    let release: (value: []) => void = () => undefined;
    // As an activity on an unavailable master, where each look lasts until its deadline.
    look.mockReturnValue(new Promise((resolve) => (release = resolve)));
    const status = jest.spyOn(bench.packets, 'status').mockRejectedValueOnce(new Error('failing over'));
    const run = new PayoutRunner(bench.packets, index, bench.streams, ({ userId }) => void paid.push(userId), {
      consumer: { pollMs: 20 },
      discoverMs: 20,
    });
    run.start();
    await bench.packets.grab('healthy', 'u');
    await eventually(() => expect(paid).toEqual(['u']));
    expect(status.mock.calls.length).toBeGreaterThan(1);
    release([]);
    await run.stop();
  });

  it.each([
    ['in which nobody wins any more', 5],
    ['that is sold out', 2],
  ])('find an activity %s also after Redis lost the index', async (_state, packets) => {
    await bench.packets.create(figures('lost', packets));
    const run = bench.payouts.run(() => undefined, { ...QUICK, discoverMs: 60_000 });
    await bench.packets.grab('lost', 'u');
    await eventually(() => expect(run.activities).toEqual(['lost']));
    const score = Number(await bench.raw.zscore(bench.indexKey, 'lost'));
    await bench.raw.del(bench.indexKey);
    await run.stop();
    const again = bench.payouts.run(() => undefined, QUICK);
    await bench.packets.grab('lost', 'v');
    await eventually(async () => expect(await bench.packets.activities()).toEqual(['lost']), { timeoutMs: 15_000 });
    expect(Number(await bench.raw.zscore(bench.indexKey, 'lost'))).toBeGreaterThan(score - 10_000);
    await again.stop();
  });

  it('report payouts that were dead-lettered before the process started, and when they are dropped', async () => {
    const [warn, log] = [jest.spyOn(Logger.prototype, 'warn'), jest.spyOn(Logger.prototype, 'log')];
    const warned = (): number =>
      warn.mock.calls.filter(([text]) => /"unpaid" has dead-letter/.test(String(text))).length;
    await create(3);
    await bench.packets.create(figures('unpaid', 3));
    await bench.packets.grab('unpaid', 'u');
    const run = bench.payouts.run(() => deadLetter('no account'), QUICK);
    await eventually(async () => expect(await bench.payouts.stats('unpaid')).toMatchObject({ deadLetters: 1 }));
    await eventually(() => expect(warned()).toBe(1));
    await run.stop();
    const restarted = bench.payouts.run(() => undefined, { ...QUICK, discoverMs: 60_000 });
    await eventually(() => expect(warned()).toBe(2));
    expect(await bench.payouts.dropAll('unpaid')).toBe(1);
    await eventually(() =>
      expect(log.mock.calls.flat()).toContainEqual(expect.stringMatching(/"unpaid" has no dead-l/)),
    );
    await restarted.stop();
  });

  it('find an activity with old dead letters also if the first look at it failed', async () => {
    await bench.packets.create(figures('unpaid', 3));
    await bench.packets.grab('unpaid', 'u');
    const run = bench.payouts.run(() => deadLetter('no account'), QUICK);
    await eventually(async () => expect(await bench.payouts.stats('unpaid')).toMatchObject({ deadLetters: 1 }));
    await run.stop();
    const finder = openFinder();
    await finder.poll();
    look.mockRejectedValueOnce(new Error('failing over'));
    await expect(finder.search()).rejects.toThrow('failing over');
    expect(found).toEqual([]);
    await finder.search();
    expect(found).toEqual(['unpaid']);
  });
});
