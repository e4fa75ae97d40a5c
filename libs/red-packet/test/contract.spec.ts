import { InvalidInputError } from 'luanest/script-registry';
import { ActivityConflictError } from 'luanest/red-packet';
import { beginActivity, fillPool, openActivity } from '../src/activity/activity.scripts';
import { seededDraws, splitDoubleMean } from '../src/split';
import { eventually } from '../../../test/support/wait';
import * as support from './support';
import { figures, openBench, packetOf, readPool, servers, sum, type Bench } from './support';

const SEED = '00112233445566778899aabbccddeeff';

describe.each(servers)('an activity on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
  });
  afterAll(() => bench.close());

  const grabMany = (activityId: string, users: readonly string[]) =>
    Promise.all(users.map((user) => bench.packets.grab(activityId, user)));

  describe('create', () => {
    it('answers with what was made, fills the pool to the cent and opens it', async () => {
      const activity = { ...figures('made', 2_500, 1_234_567), minCents: 7, maxCents: 2_000 };
      const before = Date.now();
      const created = await bench.packets.create(activity);
      expect(created).toEqual({ activityId: 'made', totalCents: 1_234_567, packets: 2_500, created: true });
      const pool = await readPool(bench, bench.keysOf('made'));
      expect(pool.map(([id]) => id)).toEqual(Array.from({ length: 2_500 }, (_, i) => String(i + 1)));
      const amounts = pool.map(([, cents]) => cents);
      expect(sum(amounts)).toBe(1_234_567);
      expect(Math.min(...amounts)).toBeGreaterThanOrEqual(7);
      expect(Math.max(...amounts)).toBeLessThanOrEqual(2_000);
      const status = await bench.packets.status('made');
      expect(status).toEqual({
        activityId: 'made',
        activityKey: `made@${status?.expiresAtMs}`,
        state: 'open',
        totalCents: 1_234_567,
        packets: 2_500,
        remainingPackets: 2_500,
        remainingCents: 1_234_567,
        grantedPackets: 0,
        grantedCents: 0,
        openPayouts: 0,
        deadLetters: 0,
        unreportedPackets: 0,
        overdue: false,
        settled: false,
        buckets: 1,
        refundedPackets: 0,
        refundedCents: 0,
        movingPackets: 0,
        movingCents: 0,
        createdAtMs: expect.any(Number),
        startsAtMs: 0,
        endsAtMs: (status?.expiresAtMs ?? 0) - 300_000,
        expiresAtMs: (status?.createdAtMs ?? 0) + support.RETENTION_MS,
      });
      // Both clocks are this machine's; a second of slack is for a clock that is set back.
      expect(Math.abs((status?.createdAtMs ?? 0) - before)).toBeLessThan(60_000);
    });

    it('finds an open activity with the same parameters, and refuses others without a change', async () => {
      await bench.packets.create(figures('again', 10));
      await bench.packets.grab('again', 'u');
      const keys = Object.values(bench.keysOf('again'));
      const before = await support.dumpKeys(bench, keys);
      expect(await bench.packets.create(figures('again', 10))).toMatchObject({ created: false });
      const others = [
        { packets: 11 },
        { totalCents: 1_001 },
        { minCents: 2 },
        { maxCents: 999 },
        { buckets: 2 },
        { maxTries: 1 },
        { endsAtMs: 4e12 },
        { split: 'equal' as const },
      ];
      for (const other of others) {
        const conflict = bench.packets.create({ ...figures('again', 10), ...other });
        await expect(conflict).rejects.toThrow(ActivityConflictError);
        await expect(conflict).rejects.toMatchObject({ code: 'ACTIVITY_CONFLICT' });
      }
      expect(await support.dumpKeys(bench, keys)).toEqual(before);
    });

    it('refuses an id whose parameters are lost while other keys remain', async () => {
      const { meta, ...others } = bench.keysOf('orphaned');
      await bench.packets.create(figures('orphaned', 3));
      await bench.packets.grab('orphaned', 'u');
      await bench.raw.del(meta);
      const before = await support.dumpKeys(bench, Object.values(others));
      await expect(bench.packets.create(figures('orphaned', 3))).rejects.toThrow(ActivityConflictError);
      expect(await support.dumpKeys(bench, Object.values(others))).toEqual(before);
      expect(await bench.raw.exists(meta)).toBe(0);
    });

    it('makes one activity of many concurrent creates', async () => {
      const all = await Promise.all(Array.from({ length: 12 }, () => bench.packets.create(figures('race', 3_500))));
      expect(all.filter(({ created }) => created)).toHaveLength(1);
      const pool = await readPool(bench, bench.keysOf('race'));
      expect(new Set(pool.map(([id]) => id)).size).toBe(3_500);
      expect(pool).toHaveLength(3_500);
      expect(sum(pool.map(([, cents]) => cents))).toBe(350_000);
    });

    it('accepts one of several concurrent creations with different parameters, and refuses the others', async () => {
      const statuses = await Promise.allSettled(
        [5, 6, 7, 8].map((packets) => bench.packets.create(figures('rivals', packets, 1_000))),
      );
      const won = statuses.flatMap((status) => (status.status === 'fulfilled' ? [status.value] : []));
      const lost = statuses.flatMap((status) => (status.status === 'rejected' ? [status.reason as unknown] : []));
      expect(won).toMatchObject([{ created: true }]);
      expect(lost).toHaveLength(3);
      for (const reason of lost) expect(reason).toBeInstanceOf(ActivityConflictError);
      expect(await readPool(bench, bench.keysOf('rivals'))).toHaveLength(won[0]?.packets ?? 0);
    });

    it('resumes a creation that stopped between two chunks, with the split of the first one', async () => {
      const plan = { totalCents: 777_777, packets: 2_500, minCents: 1, maxCents: 777_777 };
      const { meta, pool, ...rest } = bench.keysOf('resumed');
      const amounts = splitDoubleMean(plan, seededDraws(SEED));
      await bench.registry.run(beginActivity, {
        keys: bench.keysOf('resumed'),
        args: support.beginArgs({ activityId: 'resumed', totalCents: 777_777, packets: 2_500 }, SEED),
      });
      const chunk = support.entriesOf(amounts.slice(0, 1_000));
      await bench.registry.run(fillPool, { keys: { meta, pool }, args: { offset: 0, chunk } });

      const draft = await bench.packets.status('resumed');
      expect(draft).toMatchObject({ state: 'draft', remainingPackets: 2_500, remainingCents: 777_777 });
      expect(await bench.packets.grab('resumed', 'early')).toEqual({
        status: 'not-open',
        reason: 'draft',
      });
      const opening = { keys: { meta, pool, ...rest }, args: { group: 'payouts' } };
      expect(await bench.registry.run(openActivity, opening)).toBe('incomplete');

      const { totalCents, packets } = plan;
      expect(await bench.packets.create({ activityId: 'resumed', totalCents, packets })).toMatchObject({
        created: true,
      });
      const filled = await readPool(bench, bench.keysOf('resumed'));
      expect(filled).toEqual(amounts.map((cents, i) => [String(i + 1), cents]));
    });

    it('appends no chunk that is malformed, too long or too dear', async () => {
      const { meta, pool } = bench.keysOf('chunks');
      await bench.registry.run(beginActivity, {
        keys: bench.keysOf('chunks'),
        args: support.beginArgs(figures('chunks', 3, 100), SEED),
      });
      const before = await support.dumpKeys(bench, [meta, pool]);
      const many = support.entriesOf([1, 1, 1, 1]);
      const bad = [[], ['1:0:0'], ['1:x:1'], ['x:1:1'], ['1:1'], ['1:1:1', '2'], ['1:1:2'], ['1:101:101'], many];
      for (const chunk of bad) {
        const filling = bench.registry.run(fillPool, { keys: { meta, pool }, args: { offset: 0, chunk } });
        await expect(filling).rejects.toMatchObject({ redisCode: expect.stringMatching(/^BAD(CHUNK|PACKET)$/) });
      }
      expect(await support.dumpKeys(bench, [meta, pool])).toEqual(before);
    });
  });

  describe('grab', () => {
    it('wins, answers the same packet again, and says when all are gone', async () => {
      await bench.packets.create(figures('three', 3));
      const first = await bench.packets.grab('three', 'a');
      expect(first).toMatchObject({ status: 'won' });
      const others = await grabMany('three', ['b', 'c']);
      expect(await bench.packets.grab('three', 'a')).toEqual({
        status: 'already-won',
        packet: packetOf(first),
      });
      expect(await bench.packets.grab('three', 'd')).toEqual({ status: 'sold-out' });
      const amounts = [first, ...others].map((answer) => packetOf(answer).amountCents);
      expect(sum(amounts)).toBe(300);
    });

    it('is not open for an activity that nobody made, and leaves nothing behind', async () => {
      expect(await bench.packets.grab('nobody', 'a')).toEqual({ status: 'not-open', reason: 'unknown' });
      expect(await bench.packets.status('nobody')).toBeUndefined();
      const keys = Object.values(support.ownKeys(bench.keysOf('nobody')));
      expect(await bench.raw.exists(...keys)).toBe(0);
    });

    it('is not open after the end, when every key is gone and none comes back', async () => {
      const short = await openBench(connect(), { retentionMs: 400 });
      try {
        // What is made so slowly that it is over before it opens is made again.
        await eventually(() => short.packets.create(figures('short', 3)));
        await short.packets.close('short');
        const keys = Object.values(support.ownKeys(short.keysOf('short')));
        await eventually(async () => expect(await short.raw.exists(...keys)).toBe(0));
        expect(await short.packets.grab('short', 'late')).toEqual({
          status: 'not-open',
          reason: 'unknown',
        });
        // The process knows the activity's keys for a while.
        await eventually(async () => expect(await short.payouts.stats('short')).toBeUndefined());
        expect(await short.raw.exists(...keys)).toBe(0);
        // The same id is free again, also for other parameters.
        const again = await eventually(() => short.packets.create(figures('short', 4)));
        expect(again).toMatchObject({ created: true, packets: 4 });
      } finally {
        short.close();
      }
    });
  });

  it('shows counters that agree with each other at every moment of a run', async () => {
    await bench.packets.create(figures('watched', 400));
    const { grants, pool } = bench.keysOf('watched');
    let running = true;
    const tapping = Promise.all(
      Array.from({ length: 20 }, async (_, worker) => {
        for (let i = 0; i < 25; i++) await bench.packets.grab('watched', `${worker}-${i}`);
      }),
    ).finally(() => (running = false));
    const seen: number[] = [];
    while (running) {
      const status = await bench.packets.status('watched');
      const granted = status?.grantedPackets ?? -1;
      expect(status).toMatchObject({ remainingPackets: 400 - granted, openPayouts: granted });
      const snapshot = await bench.raw.multi().hget(grants, '').lrange(pool, 0, -1).exec();
      const [cents, left] = (snapshot ?? []).map(([, value]) => value) as [string, string[]];
      expect(Number(cents.split(':')[0]) + sum(left.map((entry) => Number(entry.split(':')[1])))).toBe(40_000);
      seen.push(granted);
    }
    await tapping;
    expect(seen.some((granted) => granted > 0 && granted < 400)).toBe(true);
    const figuresAtEnd = { grantedPackets: 400, grantedCents: 40_000, remainingPackets: 0, remainingCents: 0 };
    expect(await bench.packets.status('watched')).toMatchObject(figuresAtEnd);
  });

  it('lists the activities, drafts too, and drops those that are gone', async () => {
    const own = await openBench(connect());
    try {
      expect(await own.packets.activities()).toEqual([]);
      // An activity of the index's own name must not meet the index.
      for (const id of ['activities', 'a:{b}', 'ended']) await own.packets.create(figures(id, 2));
      expect((await own.packets.activities()).sort()).toEqual(['a:{b}', 'activities', 'ended']);
      expect(await own.packets.settle('ended')).toBe(false);
      // One that is gone leaves the list when the time is over that was noted at its creation.
      const list = own.registry.keySpace('red-packet').tag('activities').key('activities');
      await own.raw.zadd(list, 'XX', Date.now() - 1_000, 'ended');
      for (const id of ['ended', 'activities']) {
        await own.raw.del(own.keysOf(id).meta);
        expect(await own.packets.settle(id)).toBe(true);
      }
      expect((await own.packets.activities()).sort()).toEqual(['a:{b}', 'activities']);
    } finally {
      own.close();
    }
  });

  it('keeps activities apart whose ids look alike', async () => {
    const ids = ['{a}', '%7Ba%7D', 'a', '}a{', 'a:meta', 'ü{🎁}', '__proto__', 'x'.repeat(128)];
    for (const [i, id] of ids.entries()) await bench.packets.create(figures(id, i + 1, 1_000 + i));
    for (const [i, id] of ids.entries()) {
      expect(await bench.packets.status(id)).toMatchObject({ activityId: id, packets: i + 1, totalCents: 1_000 + i });
    }
    for (const id of ['', 'x'.repeat(129), '\ud800', undefined as never]) {
      await expect(bench.packets.status(id)).rejects.toThrow(InvalidInputError);
    }
  });
});
