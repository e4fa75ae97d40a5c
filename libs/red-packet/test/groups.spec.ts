import type { Cluster, Redis } from 'ioredis';
import type { GrabResult } from 'luanest/red-packet';
import { clusterClient, standaloneClient } from '../../script-registry/test/support';
import { byUser, figures, openBench, readGrants, readOutbox, readPool, sum, type Bench } from './support';

const clients: [string, () => Redis | Cluster, boolean][] = [
  ['standalone', standaloneClient, true],
  ['standalone, grouping off', standaloneClient, false],
  ['Cluster', clusterClient, true],
];

describe.each(clients)('grabs that leave together on %s', (_name, connect, grouping) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect(), { grouping });
  });
  afterAll(() => bench.close());

  const grabAll = (grabs: readonly (readonly [activity: string, user: string])[]): Promise<GrabResult[]> =>
    Promise.all(grabs.map(([activity, user]) => bench.packets.grab(activity, user)));

  /** Pool, grants, outbox and counters say the same, and the best packet is the first of the largest. */
  async function checkBooks(activity: string): Promise<void> {
    const keys = bench.keysOf(activity);
    const report = await bench.packets.audit(activity, { deep: true });
    expect([activity, report?.problems]).toEqual([activity, []]);
    const [grants, rows] = [await readGrants(bench, keys), await readOutbox(bench, keys)];
    expect(byUser(rows)).toEqual(byUser(grants));
    expect(new Set(grants.map(({ packetId }) => packetId)).size).toBe(grants.length);
    const cents = sum(grants.map(({ amountCents }) => amountCents));
    expect((await bench.raw.hget(keys.grants, ''))?.split(':')[0]).toBe(String(cents));
    const [best] = [...rows].sort((one, other) => other.amountCents - one.amountCents);
    expect(await bench.packets.luckiest(activity)).toEqual(best);
  }

  it.each([1, 2, 3])(
    'of several activities, with users who repeat theirs and pools that run dry, round %d',
    async (round) => {
      const activities = [0, 1, 2].map((i) => `mixed-${round}-${i}`);
      for (const [i, id] of activities.entries()) await bench.packets.create(figures(id, 10 + 20 * i));
      const users = Array.from({ length: 150 }, (_, i) => [activities[i % 3] as string, `u${(i * 7) % 45}`] as const);
      const results = await grabAll(users);
      const told = new Map<string, string>();
      for (const [i, [activity, user]] of users.entries()) {
        const result = results[i] as GrabResult;
        if (result.status !== 'won' && result.status !== 'already-won') continue;
        const known = told.get(`${activity} ${user}`);
        if (known !== undefined) expect([result.status, result.packet.packetId]).toEqual(['already-won', known]);
        told.set(`${activity} ${user}`, result.packet.packetId);
      }
      expect(results.filter(({ status }) => status === 'won')).toHaveLength(told.size);
      expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['won', 'already-won', 'sold-out']));
      for (const activity of activities) await checkBooks(activity);
      expect(await readPool(bench, bench.keysOf(activities[0] as string))).toEqual([]);
    },
  );

  it('with an invalid second packet: the first is granted, the rest are refused, a repeat is answered', async () => {
    await bench.packets.create({ ...figures('broken', 5), split: 'equal' });
    const { pool } = bench.keysOf('broken');
    const whole = (await bench.raw.lindex(pool, 1)) as string;
    await bench.raw.lset(pool, 1, 'what?');
    const users = ['a', 'b', 'a', 'c', 'a'];
    const answers = await Promise.allSettled(users.map((user) => bench.packets.grab('broken', user)));
    expect(
      answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.status : (answer.reason as unknown))),
    ).toEqual([
      'won',
      expect.objectContaining({ redisCode: 'BADPACKET' }),
      'already-won',
      expect.objectContaining({ redisCode: 'BADPACKET' }),
      'already-won',
    ]);
    expect(await bench.raw.lrange(pool, 0, 0)).toEqual(['what?']);
    await bench.raw.lset(pool, 0, whole);
    await checkBooks('broken');
    const later = await grabAll(['b', 'c', 'd', 'e', 'f'].map((user) => ['broken', user] as const));
    expect(later.map(({ status }) => status)).toEqual(['won', 'won', 'won', 'won', 'sold-out']);
    await checkBooks('broken');
  });

  it('where one of the activities is damaged: nothing of it changes, and the others know nothing of that', async () => {
    for (const id of ['whole', 'damaged']) await bench.packets.create(figures(id, 30));
    await bench.raw.hset(bench.keysOf('damaged').meta, 'bestCents', 'x');
    const users = Array.from({ length: 40 }, (_, i) => [i % 2 === 0 ? 'whole' : 'damaged', `u${i}`] as const);
    const answers = await Promise.allSettled(users.map(([activity, user]) => bench.packets.grab(activity, user)));
    for (const [i, answer] of answers.entries()) {
      if (i % 2 === 0) expect(answer).toMatchObject({ status: 'fulfilled', value: { status: 'won' } });
      else expect(answer).toMatchObject({ status: 'rejected', reason: { redisCode: 'BADMETA' } });
    }
    await checkBooks('whole');
    const keys = bench.keysOf('damaged');
    expect(await readPool(bench, keys)).toHaveLength(30);
    expect([await readGrants(bench, keys), await readOutbox(bench, keys)]).toEqual([[], []]);
  });
});
