import { InvalidInputError } from 'luanest/script-registry';
import type { ResultsPage } from 'luanest/red-packet';
import { size } from '../../../test/support/size';
import { few } from '../../../test/support/few';
import { byUser, dumpKeys, figures, openBench, packetOf, readRecords, servers, type Bench, payAll } from './support';

const HOSTILE = [
  '{a}',
  'a}b{c',
  'a:b:c',
  '1:2:3',
  'line\r\nbreak\n',
  'nul\u0000',
  '\ufeffmark',
  'ünï çødé',
  '🎁'.repeat(128),
  '__proto__',
  'constructor',
  'toString',
  ' ',
  '0',
  '-1',
  '*',
  "' .. redis.call('FLUSHALL') .. '",
  'user',
  'x'.repeat(256),
];
const MANY = size(1_800, 3_000);
const REFUSED = ['x'.repeat(257), '', '\ud800', 'a\udfffb', undefined, null, 7, {}, 7n];

describe.each(few(servers))('records on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
  });
  afterAll(() => bench.close());

  it('pages through thousands of grants and leaves none out', async () => {
    await bench.packets.create(figures('many', MANY));
    const users = Array.from({ length: MANY }, (_, i) => `user-${i}`);
    const answers = await Promise.all(users.map((user) => bench.packets.grab('many', user)));
    const grants = byUser(users.map((userId, i) => ({ userId, ...packetOf(answers[i] as (typeof answers)[0]) })));
    const { records, pages } = await readRecords(bench, 'many', MANY / 15);
    expect(pages).toBeGreaterThan(5);
    // A page may repeat what an earlier one held.
    const distinct = [...new Map(records.map((record) => [record.userId, record])).values()];
    expect(byUser(distinct)).toEqual(grants);
    expect(new Set(records.map(({ packetId }) => packetId)).size).toBe(MANY);
  });

  it.each([1, 3])(
    'show winners what the others got, and the luckiest once all are gone (%i buckets)',
    async (buckets) => {
      const named = await openBench(connect(), {
        prefix: bench.prefix,
        settings: { participantName: (userId) => Promise.resolve(userId === 'c' ? undefined : `Miss ${userId}`) },
      });
      try {
        const id = `results-${buckets}`;
        await bench.packets.create({ ...figures(id, 5), buckets, split: 'given', amounts: [100, 150, 100, 60, 90] });
        const won = new Map<string, number>();
        const grab = async (user: string): Promise<void> =>
          void won.set(user, packetOf(await bench.packets.grab(id, user)).amountCents);
        for (const user of ['a', 'b', 'c', 'd']) await grab(user);
        expect(await bench.packets.results(id, 'e')).toBeUndefined();
        expect(await bench.packets.results('absent', 'a')).toBeUndefined();
        const early = await bench.packets.results(id, 'a', { limit: 1_000 });
        expect(early).not.toHaveProperty('luckiest');
        await grab('e');
        const rows = new Map<string, ResultsPage['items'][number]>();
        for (let cursor: string | undefined = '0'; cursor !== undefined;) {
          const page: ResultsPage | undefined = await named.packets.results(id, 'a', { cursor });
          expect(page?.own).toEqual(await bench.packets.packetOf(id, 'a'));
          expect(page?.luckiest).toMatchObject({ amountCents: 150, luckiest: true });
          for (const row of page?.items ?? []) rows.set(row.packetId, row);
          cursor = page?.nextCursor;
        }
        expect([...rows.values()].map(({ amountCents }) => amountCents).sort()).toEqual([...won.values()].sort());
        expect([...rows.values()].map(({ name }) => name).sort()).toEqual([
          'Miss a',
          'Miss b',
          'Miss d',
          'Miss e',
          undefined,
        ]);
        expect([...rows.values()].filter(({ luckiest }) => luckiest)).toMatchObject([{ amountCents: 150 }]);
        expect([...rows.values()].filter(({ own }) => own)).toMatchObject([{ name: 'Miss a' }]);
        const last = await bench.packets.results(id, 'a', { cursor: `0@${buckets - 1}` });
        const anonymous = last?.luckiest;
        // Nobody's id is shown, and no name unless the app gives one.
        expect(Object.keys(anonymous ?? {}).sort()).toEqual([
          'amountCents',
          'grantedAtMs',
          'luckiest',
          'own',
          'packetId',
        ]);
      } finally {
        named.close();
      }
    },
  );

  it('are empty before the first grab, and for an activity that is not there', async () => {
    await bench.packets.create(figures('fresh', 2));
    expect(await bench.packets.records('fresh')).toEqual({ items: [] });
    expect(await bench.packets.records('absent')).toEqual({ items: [] });
  });

  it.each([
    ['limit', { limit: 0 }],
    ['limit', { limit: 1_001 }],
    ['limit', { limit: 1.5 }],
    ['limit', { limit: Number.NaN }],
    ['limit', { limit: '10' as never }],
    ['cursor', { cursor: '' }],
    ['cursor', { cursor: '-1' }],
    ['cursor', { cursor: '1e3' }],
    ['cursor', { cursor: '18446744073709551616' }],
    ['cursor', { cursor: '99999999999999999999' }],
  ])('refuse an invalid %s: %j', async (field, page) => {
    const reading = bench.packets.records('fresh', page);
    await expect(reading).rejects.toThrow(InvalidInputError);
    await expect(reading).rejects.toThrow(new RegExp(`^${field} is `));
  });

  it('list each grant that is there from the first page to the last, also when others come and go', async () => {
    await bench.packets.create(figures('moving', MANY));
    const grab = (from: number, to: number): Promise<unknown> =>
      Promise.all(Array.from({ length: to - from }, (_, i) => bench.packets.grab('moving', `u${from + i}`)));
    await grab(0, MANY / 3);
    const seen = new Set<string>();
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await bench.packets.records('moving', { cursor, limit: MANY / 30 });
      for (const { userId } of page.items) seen.add(userId);
      cursor = page.nextCursor;
      pages += 1;
      // The hash grows while it is read, and shrinks by what a payout gives back.
      if (pages === 2) await grab(MANY / 3, MANY);
      if (pages === 4) {
        const userId = `u${MANY - 1}`;
        const packet = await bench.packets.packetOf('moving', userId);
        await bench.packets.conflict('moving', { userId, packetId: packet?.packetId ?? '' });
      }
    } while (cursor !== undefined);
    expect(pages).toBeGreaterThan(4);
    expect(Array.from({ length: MANY / 3 }, (_, i) => `u${i}`).filter((user) => !seen.has(user))).toEqual([]);
  });

  it('user ids of any text live through grab, records and payouts, each with a packet of its own', async () => {
    await bench.packets.create(figures('hostile', HOSTILE.length));
    const expected = await Promise.all(
      HOSTILE.map(async (userId) => ({ userId, ...packetOf(await bench.packets.grab('hostile', userId)) })),
    );
    expect(new Set(expected.map(({ packetId }) => packetId)).size).toBe(HOSTILE.length);
    for (const { userId, ...packet } of expected) {
      expect(await bench.packets.grab('hostile', userId)).toEqual({ status: 'already-won', packet });
    }
    const { records } = await readRecords(bench, 'hostile');
    expect(byUser(records)).toEqual(byUser(expected));
    const rows = await payAll(bench, 'hostile');
    expect(byUser(rows)).toEqual(byUser(expected));
    expect(rows.every(({ activityId }) => activityId === 'hostile')).toBe(true);
  });

  it('invalid user ids are refused before anything is written', async () => {
    await bench.packets.create(figures('strict', 5));
    const keys = Object.values(bench.keysOf('strict'));
    const before = await dumpKeys(bench, keys);
    for (const id of REFUSED) {
      const grabbing = bench.packets.grab('strict', id as string);
      await expect(grabbing).rejects.toThrow(InvalidInputError);
      await expect(grabbing).rejects.toThrow(/^userId is /);
    }
    expect(await dumpKeys(bench, keys)).toEqual(before);
  });
});
