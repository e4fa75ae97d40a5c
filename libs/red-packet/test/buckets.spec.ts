import { performance } from 'node:perf_hooks';
import { ActivityConflictError, type GrabResult } from 'luanest/red-packet';
import { size } from '../../../test/support/size';
import { eventually } from '../../../test/support/wait';
import { slotOf } from '../../internal/src';
import { homeOf, Layouts, type Layout } from '../src/buckets/layout';
import { isSoldOut } from '../src/buckets/refills';
import { Transfers } from '../src/buckets/transfers';
import { figures, openBench, ownKeys, packetOf, payAll, servers, sum, type Bench } from './support';

describe('the keys of buckets', () => {
  it('lie evenly over the masters, and differ between numbers of buckets', async () => {
    const bench = await openBench((servers[0] as (typeof servers)[0])[1]());
    try {
      for (const id of ['a', '{a}:%ü', 'x'.repeat(128)]) {
        for (const buckets of [2, 4, 16, 64]) {
          const slots = bench.bucketsOf(id, buckets).map(({ meta }) => slotOf(meta));
          // Four masters with equally many slots have equally many buckets, or differ by one.
          const perMaster = [0, 1, 2, 3].map((i) => slots.filter((slot) => Math.floor(slot / 4_096) === i).length);
          expect(Math.max(...perMaster) - Math.min(...perMaster)).toBeLessThanOrEqual(1);
          for (const keys of bench.bucketsOf(id, buckets)) {
            expect(new Set(Object.values(keys).map((key: string) => slotOf(key))).size).toBe(1);
          }
        }
        const all = [1, 2, 4, 16].flatMap((buckets) => bench.bucketsOf(id, buckets).map(({ meta }) => meta));
        expect(new Set(all).size).toBe(23);
      }
      // Users lie evenly over buckets, also when their names are in a row.
      const layout: Layout = { activityId: 'a', buckets: bench.bucketsOf('a', 16) };
      const homes = Array.from({ length: 16 }, () => 0);
      for (let i = 0; i < 16_000; i++)
        homes[homeOf(layout, `user-${i}`)] = (homes[homeOf(layout, `user-${i}`)] ?? 0) + 1;
      for (const users of homes) expect(Math.abs(users - 1_000)).toBeLessThan(150);
    } finally {
      bench.close();
    }
  });
});

describe.each(servers)('buckets on %s', (name, connect) => {
  let benches: [Bench, Bench];
  beforeAll(async () => {
    const one = await openBench(connect());
    benches = [one, await openBench(connect(), { prefix: one.prefix })];
  });
  afterAll(() => benches.forEach((bench) => bench.close()));

  it.each([1, 4, 16])('%d of them hand out all packets, each once, and at most one to a user', async (buckets) => {
    const id = `rain-${buckets}`;
    const [bench] = benches;
    const packetsOfRain = size(60, 300);
    await bench.packets.create({ ...figures(id, packetsOfRain, 100_003), buckets });
    if (name === 'Cluster') {
      const masters = new Set(
        bench.bucketsOf(id, buckets).map(({ meta }) => Math.min(2, Math.floor(slotOf(meta) / 5_461))),
      );
      expect(masters.size).toBe(Math.min(3, buckets));
    }
    const users = Array.from({ length: size(140, 700) }, (_, i) => `user-${i}`);
    const told = new Map<string, GrabResult[]>();
    await Promise.all(
      [...users, ...users].map(async (user, i) => {
        let answer = await (benches[i % 2] as Bench).packets.grab(id, user);
        while (answer.status === 'try-again') answer = await (benches[i % 2] as Bench).packets.grab(id, user);
        told.set(user, [...(told.get(user) ?? []), answer]);
      }),
    );
    const winners = users.filter((user) => told.get(user)?.some(({ status }) => status === 'won'));
    expect(winners).toHaveLength(packetsOfRain);
    for (const user of users) {
      const statuses = told
        .get(user)
        ?.map(({ status }) => status)
        .sort();
      expect(statuses).toEqual(winners.includes(user) ? ['already-won', 'won'] : ['sold-out', 'sold-out']);
    }
    const packets = winners.map((user) => packetOf(told.get(user)?.[0] as GrabResult));
    expect(new Set(packets.map(({ packetId }) => packetId)).size).toBe(packetsOfRain);
    expect(sum(packets.map(({ amountCents }) => amountCents))).toBe(100_003);
    expect(await bench.packets.status(id)).toMatchObject({
      state: 'sold-out',
      buckets,
      remainingPackets: 0,
      remainingCents: 0,
      movingPackets: 0,
      grantedPackets: packetsOfRain,
      grantedCents: 100_003,
      openPayouts: packetsOfRain,
    });
  });

  it('pays out of all of them, and pages through all records', async () => {
    const [{ packets }] = benches;
    await packets.create({ ...figures('paid', 100), buckets: 4 });
    await Promise.all(Array.from({ length: 60 }, (_, i) => packets.grab('paid', `u${i}`)));
    const rows = await payAll(benches[0], 'paid');
    expect(rows).toHaveLength(60);
    expect(new Set(rows.map(({ userId }) => userId)).size).toBe(60);
    for (const row of rows)
      expect(await packets.packetOf('paid', row.userId)).toMatchObject({ packetId: row.packetId });
    const seen = new Set<string>();
    for (let cursor: string | undefined = '0'; cursor !== undefined;) {
      const page: Awaited<ReturnType<typeof packets.records>> = await packets.records('paid', { cursor, limit: 10 });
      for (const { userId } of page.items) seen.add(userId);
      cursor = page.nextCursor;
    }
    expect(seen.size).toBe(60);
    await expect(packets.records('paid', { cursor: '0@7' })).rejects.toThrow(/^cursor is /);
    const best = Math.max(...rows.map(({ amountCents }) => amountCents));
    expect(await packets.luckiest('paid')).toMatchObject({ amountCents: best });
  });

  it('brings packets to a bucket that ran empty, and repeats no step that was done', async () => {
    const [bench] = benches;
    await bench.packets.create({ ...figures('moved', 40), buckets: 4 });
    const layout: Layout = { activityId: 'moved', buckets: bench.bucketsOf('moved', 4) };
    const transfers = new Transfers(bench.registry);
    const way = { from: 0, to: 1 };
    const sent = await transfers.send(layout, way);
    expect(sent?.packets).toHaveLength(5);
    // Another process, or a replay, finds the same record.
    expect(await transfers.send(layout, way)).toEqual(sent);
    expect(await bench.packets.status('moved')).toMatchObject({ movingPackets: 5, remainingPackets: 40 });
    if (sent === undefined) return;
    for (let i = 0; i < 3; i++) expect(await transfers.receive(layout, way, sent)).toBe(true);
    const [zero, one] = await transfers.readAll(layout);
    expect(zero).toMatchObject({ pooled: 5, sentPackets: 5, outgoing: [1] });
    expect(one).toMatchObject({ pooled: 15, receivedPackets: 5 });
    expect(one?.pooledCents).toBe(one?.heldCents);
    for (let i = 0; i < 2; i++) await transfers.confirm(layout, way, sent);
    // A stale process that wakes up with what it had read long ago.
    const next = await transfers.send(layout, way);
    expect(Number(next?.sequence)).toBeGreaterThan(Number(sent.sequence));
    await transfers.confirm(layout, way, sent);
    expect(await transfers.send(layout, way)).toEqual(next);
    if (next !== undefined) await transfers.receive(layout, way, next);
    expect(await transfers.receive(layout, way, sent)).toBe(true);
    await transfers.finish(layout, await transfers.readAll(layout));
    const readings = await transfers.readAll(layout);
    expect(sum(readings.map(({ pooled }) => pooled))).toBe(40);
    expect(readings.every(({ outgoing }) => outgoing.length === 0)).toBe(true);
  });

  it.each(['sent', 'received'] as const)(
    'finish what a process that died had %s, by the next grab or the close',
    async (step) => {
      const [bench, other] = benches;
      for (const end of ['grab', 'close'] as const) {
        const id = `died-${step}-${end}`;
        await bench.packets.create({ ...figures(id, 8), buckets: 2 });
        const layout: Layout = { activityId: id, buckets: bench.bucketsOf(id, 2) };
        const transfers = new Transfers(bench.registry);
        const sent = await transfers.send(layout, { from: 0, to: 1 });
        if (sent && step === 'received') await transfers.receive(layout, { from: 0, to: 1 }, sent);
        if (end === 'close') {
          expect(await other.packets.close(id)).toMatchObject({ refundedPackets: 8, refundedCents: 800 });
        } else {
          const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => other.packets.grab(id, `u${i}`)));
          expect(answers.filter(({ status }) => status === 'won')).toHaveLength(8);
          expect(answers.filter(({ status }) => status === 'sold-out')).toHaveLength(32);
        }
        expect(await bench.packets.status(id)).toMatchObject({ movingPackets: 0, movingCents: 0, remainingCents: 0 });
      }
    },
  );

  it('says sold out only where the counters of all buckets prove it', async () => {
    const [bench] = benches;
    await bench.packets.create({ ...figures('proof', 4), buckets: 2 });
    const layout: Layout = { activityId: 'proof', buckets: bench.bucketsOf('proof', 2) };
    const transfers = new Transfers(bench.registry);
    const home = (bucket: number): string[] =>
      Array.from({ length: 200 }, (_, i) => `u${i}`).filter((user) => homeOf(layout, user) === bucket);
    // All that is left is on its way between the two.
    for (const user of home(1).slice(0, 2)) expect((await bench.packets.grab('proof', user)).status).toBe('won');
    expect((await bench.packets.grab('proof', home(0)[0] as string)).status).toBe('won');
    await transfers.send(layout, { from: 0, to: 1 });
    const readings = await transfers.readAll(layout);
    expect(readings.map(({ pooled }) => pooled)).toEqual([0, 0]);
    expect(isSoldOut(readings)).toBe(false);
    expect((await bench.packets.grab('proof', home(0)[1] as string)).status).toBe('won');
    expect(isSoldOut(await transfers.readAll(layout))).toBe(true);
    expect((await bench.packets.grab('proof', home(0)[2] as string)).status).toBe('sold-out');
  });

  it('waits no longer than it may for packets that somebody else holds up', async () => {
    const bench = await openBench(connect(), { prefix: benches[0].prefix, transferWaitMs: 80 });
    try {
      await bench.packets.create({ ...figures('held', 2), buckets: 2 });
      const layout: Layout = { activityId: 'held', buckets: bench.bucketsOf('held', 2) };
      const [first, second] = [0, 1].map((bucket) =>
        Array.from({ length: 50 }, (_, i) => `u${i}`).filter((user) => homeOf(layout, user) === bucket),
      ) as [string[], string[]];
      await bench.packets.grab('held', first[0] as string);
      // Bucket 1 cannot be read as a whole: its packet is there, but nobody may take it.
      await bench.raw.hset((layout.buckets[1] as { meta: string }).meta, 'state', 'draft');
      const before = performance.now();
      expect(await bench.packets.grab('held', first[1] as string)).toEqual({
        status: 'try-again',
        retryAfterMs: expect.any(Number),
      });
      expect(performance.now() - before).toBeGreaterThanOrEqual(80);
      await bench.raw.hset((layout.buckets[1] as { meta: string }).meta, 'state', 'open');
      // On a busy machine the transfer may take longer than a grab may wait for it.
      await eventually(async () => expect((await bench.packets.grab('held', first[1] as string)).status).toBe('won'));
      expect((await bench.packets.grab('held', second[0] as string)).status).toBe('sold-out');
    } finally {
      bench.close();
    }
  });

  it('finds an activity that was created again with another number of buckets', async () => {
    const [bench, other] = benches;
    await bench.packets.create({ ...figures('again', 12), buckets: 4 });
    expect((await other.packets.grab('again', 'u')).status).toBe('won');
    const wipe = async (buckets: number): Promise<void> => {
      for (const keys of [...bench.bucketsOf('again', buckets), ...bench.bucketsOf('again', 1)]) {
        for (const key of Object.values(ownKeys(keys))) await bench.raw.del(key);
      }
    };
    for (const [old, buckets] of [
      [4, 2],
      [2, 1],
      [1, 3],
    ] as const) {
      await wipe(old);
      await bench.packets.create({ ...figures('again', 12), buckets });
      expect((await other.packets.grab('again', 'u')).status).toBe('won');
      expect((await bench.packets.grab('again', 'u')).status).toBe('already-won');
      expect(await other.packets.status('again')).toMatchObject({ buckets, grantedPackets: 1 });
    }
  });

  it('refuses an id of whose activity Redis has lost the root', async () => {
    const [bench] = benches;
    const activity = { ...figures('rootless', 8, 997), buckets: 4 };
    await bench.packets.create(activity);
    for (const key of Object.values(ownKeys(bench.keysOf('rootless')))) await bench.raw.del(key);
    // The packets would be split again, and the buckets that are left have their shares of the first split.
    await expect(bench.packets.create(activity)).rejects.toThrow(ActivityConflictError);
    expect(await bench.packets.status('rootless')).not.toMatchObject({ state: 'open' });
  });

  it('keeps apart activities whose ids look like the keys of buckets', async () => {
    const [bench] = benches;
    await bench.packets.create({ ...figures('x', 4), buckets: 2 });
    const ids = ['x:0-2', 'x:1-2', 'x%3A0-2'];
    for (const id of ids) await bench.packets.create(figures(id, 3));
    expect(await bench.packets.status('x')).toMatchObject({ packets: 4, remainingPackets: 4 });
    for (const id of ids) expect(await bench.packets.status(id)).toMatchObject({ packets: 3, remainingPackets: 3 });
  });

  it('learns the layout from the root, in a process that has not made the activity', async () => {
    const fresh = await openBench(connect(), { prefix: benches[0].prefix });
    try {
      await benches[0].packets.create({ ...figures('learned', 8), buckets: 4 });
      const layouts = new Layouts(fresh.registry.keySpace('red-packet'), 16);
      expect(layouts.of('learned').buckets).toHaveLength(1);
      const grab = await fresh.packets.grab('learned', 'u');
      if (grab.status !== 'won') throw new Error(`The first grab was answered ${grab.status}.`);
      expect(await fresh.packets.packetOf('learned', 'u')).toEqual(grab.packet);
      expect(await fresh.packets.packetOf('learned', 'nobody')).toBeUndefined();
    } finally {
      fresh.close();
    }
  });
});
