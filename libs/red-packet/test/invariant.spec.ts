import fc from 'fast-check';
import type { GrabResult } from 'luanest/red-packet';
import { seededDraws } from '../src/split';
import * as support from './support';
import {
  byUser,
  figures,
  openBench,
  packetOf,
  readGrants,
  readOutbox,
  servers,
  settleRows,
  sum,
  takeRows,
  type Bench,
} from './support';

function shuffled<T>(items: readonly T[]): T[] {
  const draw = seededDraws('5eed'.repeat(8));
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = draw(i + 1);
    [order[i], order[j]] = [order[j] as T, order[i] as T];
  }
  return order;
}

describe.each(servers)('whatever the interleaving on %s', (_name, connect) => {
  let benches: [Bench, Bench];
  beforeAll(async () => {
    const one = await openBench(connect());
    benches = [one, await openBench(connect(), { prefix: one.prefix })];
  });
  afterAll(() => benches.forEach((bench) => bench.close()));

  it('500 users who tap three times get one packet each or none, of 200 packets, to the cent', async () => {
    const [bench] = benches;
    await bench.packets.create({
      activityId: 'rain',
      packets: 200,
      totalCents: 1_000_003,
      minCents: 50,
      maxCents: 20_000,
    });
    const users = Array.from({ length: 500 }, (_, i) => `user-${i}`);
    const taps = shuffled(users.flatMap((user) => [user, user, user]));
    const answers = new Map<string, GrabResult[]>(users.map((user) => [user, []]));
    await Promise.all(
      taps.map(async (user, i) => {
        const { packets } = benches[i % 2] as Bench;
        answers.get(user)?.push(await packets.grab('rain', user));
      }),
    );

    const winners = users.filter((user) => answers.get(user)?.some(({ status }) => status === 'won'));
    expect(winners).toHaveLength(200);
    for (const user of users) {
      const statuses = answers
        .get(user)
        ?.map(({ status }) => status)
        .sort();
      const won = winners.includes(user);
      expect(statuses).toEqual(won ? ['already-won', 'already-won', 'won'] : ['sold-out', 'sold-out', 'sold-out']);
      if (won) expect(new Set(answers.get(user)?.map((answer) => JSON.stringify(packetOf(answer)))).size).toBe(1);
    }

    const held = byUser(winners.map((userId) => ({ userId, ...packetOf(answers.get(userId)?.[0] as GrabResult) })));
    expect(new Set(held.map(({ packetId }) => packetId)).size).toBe(200);
    expect(sum(held.map(({ amountCents }) => amountCents))).toBe(1_000_003);
    const keys = bench.keysOf('rain');
    expect(byUser(await readGrants(bench, keys))).toEqual(held);
    expect(byUser(await readOutbox(bench, keys))).toEqual(held);
    expect(await bench.packets.status('rain')).toMatchObject({
      remainingPackets: 0,
      remainingCents: 0,
      grantedPackets: 200,
      grantedCents: 1_000_003,
      openPayouts: 200,
    });
  });

  it('any run of grabs, claims, settlements and creations does what a model of it does', async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ do: fc.constant('grab' as const), user: fc.integer({ min: 0, max: 11 }) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('claim' as const), count: fc.integer({ min: 1, max: 5 }) }) },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant('settle' as const), count: fc.integer({ min: 0, max: 5 }) }),
      },
      { weight: 1, arbitrary: fc.constant({ do: 'create' as const }) },
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 30 }), async (count, steps) => {
        const activityId = `model-${(run += 1)}`;
        const { packets } = benches[0];
        const activity = figures(activityId, count);
        const { outbox } = benches[0].keysOf(activityId);
        let open = false;
        let unclaimed: string[] = [];
        let claimed: string[] = [];
        const held = new Map<string, unknown>();
        for (const each of steps) {
          if (each.do === 'create') {
            expect(await packets.create(activity)).toMatchObject({ created: !open });
            open = true;
          } else if (each.do === 'grab') {
            const user = `u${each.user}`;
            const answer = await packets.grab(activityId, user);
            const room = open && held.size < count;
            const expected = held.has(user) ? 'already-won' : room ? 'won' : open ? 'sold-out' : 'not-open';
            expect(answer.status).toBe(expected);
            if (answer.status === 'already-won') expect(answer.packet).toEqual(held.get(user));
            if (answer.status !== 'won') continue;
            held.set(user, answer.packet);
            unclaimed.push(user);
          } else if (each.do === 'claim') {
            // The outbox may have unread rows of the runs before, which come first.
            const ids = open ? await takeRows(benches[0], outbox, each.count, activityId) : [];
            expect(ids).toHaveLength(unclaimed.slice(0, each.count).length);
            unclaimed = unclaimed.slice(each.count);
            claimed.push(...ids);
          } else {
            await settleRows(benches[0], outbox, claimed.slice(0, each.count));
            claimed = claimed.slice(each.count);
          }
        }
        const status = await packets.status(activityId);
        if (!open) return expect(status).toBeUndefined();
        const openPayouts = unclaimed.length + claimed.length;
        expect(status).toMatchObject({ grantedPackets: held.size, remainingPackets: count - held.size, openPayouts });
        const pool = await support.readPool(benches[0], benches[0].keysOf(activityId));
        expect(sum(pool.map(([, cents]) => cents))).toBe(status?.remainingCents);
      }),
      { numRuns: 60, seed: 20_260_102 },
    );
  });
});
