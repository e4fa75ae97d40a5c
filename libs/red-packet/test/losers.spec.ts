import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { size } from '../../../test/support/size';
import { eventually } from '../../../test/support/wait';
import { WinnerFilter } from '../src/grabs/winner-filter';
import { figures, openBench, packetOf, quiet, type Bench } from './support';

describe('WinnerFilter', () => {
  it('recognises every winner, and takes few others for one', () => {
    for (const winners of [0, 1, 100, size(4_000, 20_000)]) {
      const filter = new WinnerFilter(winners);
      for (let i = 0; i < winners; i++) filter.add(`user-${i}`);
      let [missed, mistaken] = [0, 0];
      for (let i = 0; i < winners; i++) if (!filter.mayHave(`user-${i}`)) missed += 1;
      for (let i = 0; i < size(5_000, 20_000); i++) if (filter.mayHave(`loser-${i}`)) mistaken += 1;
      expect(missed).toBe(0);
      expect(mistaken).toBeLessThan(size(50, 200));
    }
  });
});

describe('losers of a sold-out activity', () => {
  let server: RedisServer;
  const open: Bench[] = [];
  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(() => open.splice(0).forEach((bench) => bench.close()));
  afterAll(() => server.stop());

  async function connect(soldOutMs: number): Promise<Bench> {
    const bench = await openBench(quiet(new Redis(server.port)), { prefix: 'losers', soldOutMs });
    open.push(bench);
    return bench;
  }
  /** EVALSHAs that the server has run. */
  async function calls({ raw }: Bench): Promise<number> {
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await raw.info('commandstats'))?.[1] ?? 0);
  }
  async function sellOut(bench: Bench, id: string, buckets: number): Promise<Map<string, unknown>> {
    await bench.packets.create({ ...figures(id, 60), buckets });
    const users = Array.from({ length: 60 }, (_, i) => `winner-${i}`);
    const answers = await Promise.all(users.map((user) => bench.packets.grab(id, user)));
    return new Map(users.map((user, i) => [user, packetOf(answers[i] as (typeof answers)[0])]));
  }
  /** Waits until a process answers losers without a call. */
  async function shedding(bench: Bench, id: string): Promise<void> {
    await eventually(async () => {
      await bench.packets.grab(id, 'probe');
      const before = await calls(bench);
      for (let i = 0; i < 20; i++) expect((await bench.packets.grab(id, `p${i}`)).status).toBe('sold-out');
      expect((await calls(bench)) - before).toBeLessThan(3);
    });
  }

  it.each([1, 4])('are answered by the process, winners by Redis, with %d buckets', async (buckets) => {
    const bench = await connect(60_000);
    const id = `shed-${buckets}`;
    const winners = await sellOut(bench, id, buckets);
    await shedding(bench, id);
    const before = await calls(bench);
    const answers = await Promise.all(Array.from({ length: 2_000 }, (_, i) => bench.packets.grab(id, `loser-${i}`)));
    expect(answers.every(({ status }) => status === 'sold-out')).toBe(true);
    expect((await calls(bench)) - before).toBeLessThan(100);
    for (const [user, packet] of winners) {
      expect(await bench.packets.grab(id, user)).toEqual({ status: 'already-won', packet });
    }
    // Another process learns for itself.
    const other = await connect(60_000);
    await shedding(other, id);
    expect((await other.packets.grab(id, 'winner-7')).status).toBe('already-won');
  });

  it('all ask Redis if nothing is remembered', async () => {
    const bench = await connect(0);
    await sellOut(bench, 'off', 1);
    for (let i = 0; i < 20; i++) await bench.packets.grab('off', 'loser');
    const before = await calls(bench);
    for (let i = 0; i < 50; i++) await bench.packets.grab('off', `loser-${i}`);
    expect((await calls(bench)) - before).toBeGreaterThanOrEqual(50);
  });

  it('win packets that a failover brought back, and see winners of other processes', async () => {
    const [bench, other] = [await connect(400), await connect(400)];
    await bench.packets.create(figures('back', 60));
    for (let i = 0; i < 40; i++) await bench.packets.grab('back', `winner-${i}`);
    const keys = Object.values(bench.keysOf('back'));
    // What a replica has that misses the last 20 grants.
    const copy = await Promise.all(keys.map(async (key) => [key, await bench.raw.dumpBuffer(key)] as const));
    for (let i = 40; i < 60; i++) await bench.packets.grab('back', `winner-${i}`);
    await shedding(bench, 'back');
    await shedding(other, 'back');
    for (const [key, value] of copy) if (value !== null) await bench.raw.restore(key, 600_000, value, 'REPLACE');
    const won = await eventually(async () => {
      const answer = await bench.packets.grab('back', 'loser');
      expect(answer.status).toBe('won');
      return answer;
    });
    // The other process may still believe that all are gone, and not for long; it must not believe it for good.
    await eventually(async () => {
      const answer = await other.packets.grab('back', 'loser');
      expect(answer).toEqual({ status: 'already-won', packet: packetOf(won) });
    });
    for (let i = 0; i < 19; i++) expect((await bench.packets.grab('back', `new-${i}`)).status).toBe('won');
    await shedding(other, 'back');
    await eventually(async () => {
      for (let i = 0; i < 19; i++) expect((await other.packets.grab('back', `new-${i}`)).status).toBe('already-won');
    });
  });

  it('see that it is closed as soon as the process asks Redis again', async () => {
    const bench = await connect(200);
    await sellOut(bench, 'closed', 1);
    await shedding(bench, 'closed');
    await bench.packets.close('closed');
    await eventually(async () =>
      expect(await bench.packets.grab('closed', 'loser')).toMatchObject({ reason: 'closed' }),
    );
    expect((await bench.packets.grab('closed', 'winner-3')).status).toBe('already-won');
  });
});
