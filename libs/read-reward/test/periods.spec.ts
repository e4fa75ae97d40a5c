import fc from 'fast-check';
import { Redis } from 'ioredis';
import { parseLedgerRow, type ReadRewardService, type RecordResult, type RewardRule } from 'luanest/read-reward';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { DAY_MS, openTimed, quiet } from './support';
import { size } from '../../../test/support/size';

// Tomorrow's: Redis would let go at once what belongs to a day that is over by its real clock.
const NOON = Math.ceil(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;
const MIDNIGHT = NOON + DAY_MS / 2;

let server: RedisServer;
let bench: Awaited<ReturnType<typeof openTimed>>;
beforeAll(async () => {
  server = await startRedis();
  bench = await openTimed(quiet(new Redis(server.port)));
});
afterAll(async () => {
  bench.close();
  await server.stop();
});

const open = (rule: RewardRule, name = 'r') => bench.service({ [name]: rule }, { partitions: 1 });

describe("Redis' clock", () => {
  const at = async (rewards: ReadRewardService, userId: string, ms: number, itemId: string, timeZone?: string) => {
    await bench.setClock('r', userId, ms);
    return rewards.record({ rule: 'r', userId, itemId, timeZone });
  };

  it('decides the day, to the millisecond, and forgets the items of the last', async () => {
    const rewards = open({ limit: 1 });
    expect(await at(rewards, 'u', MIDNIGHT - 1, 'a')).toMatchObject({ status: 'rewarded', resetsAtMs: MIDNIGHT });
    expect(await at(rewards, 'u', MIDNIGHT - 1, 'b')).toMatchObject({ status: 'capped' });
    expect((await rewards.status('u'))[0]).toMatchObject({ used: 1, remaining: 0 });
    await bench.setClock('r', 'u', MIDNIGHT);
    expect((await rewards.status('u'))[0]).toMatchObject({ used: 0, remaining: 1, resetsAtMs: MIDNIGHT + DAY_MS });
    expect(await at(rewards, 'u', MIDNIGHT, 'a')).toMatchObject({ status: 'rewarded', resetsAtMs: MIDNIGHT + DAY_MS });
    expect(await at(rewards, 'u', MIDNIGHT + 1, 'b')).toMatchObject({ status: 'capped' });
  });

  it('decides while clocks of the app are an hour off, or a year', async () => {
    const real = Date.now.bind(Date);
    try {
      for (const [i, skew] of [-3_600_000, 3_600_000, -365 * DAY_MS, 365 * DAY_MS].entries()) {
        Date.now = () => real() + skew;
        const rewards = open({ limit: 1 });
        const answers = [];
        for (const ms of [MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + DAY_MS]) {
          answers.push(await at(rewards, `skew${i}`, ms, 'a'), await at(rewards, `skew${i}`, ms, 'b'));
        }
        const statuses = answers.map(({ status, resetsAtMs }) => [status, resetsAtMs]);
        const ends = [MIDNIGHT, MIDNIGHT + DAY_MS, MIDNIGHT + 2 * DAY_MS];
        expect(statuses).toEqual(
          ends.flatMap((end) => [
            ['rewarded', end],
            ['capped', end],
          ]),
        );
      }
    } finally {
      Date.now = real;
    }
  });

  it('lets a change of zone begin with the next period, and makes no period shorter than one', async () => {
    const rewards = open({ limit: 1 });
    const zone = 'Pacific/Kiritimati'; // 14 hours ahead: its midnight is 10:00 UTC.
    expect(await at(rewards, 'z', NOON, 'a')).toMatchObject({ status: 'rewarded', resetsAtMs: MIDNIGHT });
    expect(await at(rewards, 'z', NOON + 1, 'b', zone)).toMatchObject({ status: 'capped', resetsAtMs: MIDNIGHT });
    const end = MIDNIGHT + DAY_MS + 10 * 3_600_000;
    await bench.setClock('r', 'z', MIDNIGHT);
    expect((await rewards.status('z', { timeZone: zone }))[0]).toMatchObject({ used: 0, resetsAtMs: end });
    expect(await at(rewards, 'z', MIDNIGHT, 'b', zone)).toMatchObject({ status: 'rewarded', resetsAtMs: end });
    expect(await at(rewards, 'z', MIDNIGHT + DAY_MS, 'c', zone)).toMatchObject({ status: 'capped', resetsAtMs: end });
    expect(await at(rewards, 'z', MIDNIGHT + DAY_MS, 'c')).toMatchObject({ status: 'capped', resetsAtMs: end });
    const next = { status: 'rewarded', resetsAtMs: end + DAY_MS };
    expect(await at(rewards, 'z', end, 'c', zone)).toMatchObject(next);
  });

  it('ends what may be refunded with the period', async () => {
    const rewards = open({ limit: 1 });
    const { grantId } = await at(rewards, 'late', NOON, 'a');
    await bench.setClock('r', 'late', MIDNIGHT);
    expect(await rewards.refund(grantId as string)).toEqual({ status: 'expired', points: 0, used: 0 });
    await at(rewards, 'late', MIDNIGHT, 'b');
    expect(await rewards.refund(grantId as string)).toEqual({ status: 'expired', points: 0, used: 0 });
  });

  it('gives a grant of total a new id when the user was forgotten in between', async () => {
    const rule: RewardRule = { limit: 2, period: 'total', retentionMs: 60_000 };
    const rewards = bench.service({ r: rule }, { partitions: 1, ledgerRetentionMs: 86_400_000 });
    const plain = bench.service({ r: rule }, { partitions: 1 });
    for (const [userId, service] of [
      ['t1', rewards],
      ['t2', plain],
    ] as const) {
      const { grantId: first } = await at(service, userId, NOON, 'a');
      const tag = bench.registry.keySpace('read-reward').tag('s0');
      // Redis expires the keys when `retentionMs` is over.
      await bench.raw.del(tag.key('state', 'r', userId));
      const { grantId: second } = await at(service, userId, NOON + 60_000, 'a');
      expect(second).not.toBe(first);
      expect(await service.refund(first as string)).toEqual({ status: 'expired', points: 0, used: 0 });
      expect(await service.refund(second as string)).toEqual({ status: 'refunded', points: 1, used: 0 });
      expect(await at(service, userId, NOON + 60_001, 'a')).toMatchObject({ status: 'rewarded', resetsAtMs: null });
    }
    const rows = await bench.raw.xrange(rewards.ledgerKeys()[0] as string, '-', '+');
    const grants = rows
      .map(([, fields]) => parseLedgerRow(fields))
      .filter(({ userId, kind }) => userId === 't1' && kind === 'grant');
    expect(new Set(grants.map(({ grantId }) => grantId)).size).toBe(3);
  });

  it('forgets an operation id with its retention, not with the grant', async () => {
    const rewards = bench.service({ r: { limit: 1 } }, { partitions: 1, operationRetentionMs: 60_000 });
    const record = async (ms: number) => {
      await bench.setClock('r', 'op', ms);
      return rewards.record({ rule: 'r', userId: 'op', itemId: 'a', operationId: 'op:a' });
    };
    const first = await record(NOON);
    expect(first).toMatchObject({ status: 'rewarded', resetsAtMs: MIDNIGHT });
    expect(await record(NOON + 1)).toEqual(first);
    const forget = () =>
      bench.raw.del(bench.registry.keySpace('read-reward').tag('s0').key('answer', 'r', 'op', 'op:a'));
    await forget();
    expect(await record(NOON + 60_000)).toMatchObject({ status: 'duplicate', points: 0, used: 1 });
    await forget();
    const next = await record(MIDNIGHT + 1);
    expect(next).toMatchObject({ status: 'rewarded', used: 1, resetsAtMs: MIDNIGHT + DAY_MS });
    expect(next.grantId).not.toBe(first.grantId);
  });

  it('remembers an item beyond its period with dedupe ever, also at the cap', async () => {
    const rewards = open({ limit: 1, dedupe: 'ever' });
    await at(rewards, 'e', NOON, 'a');
    expect(await at(rewards, 'e', MIDNIGHT, 'a')).toMatchObject({ status: 'duplicate', used: 0 });
    expect(await at(rewards, 'e', MIDNIGHT, 'b')).toMatchObject({ status: 'rewarded' });
    expect(await at(rewards, 'e', MIDNIGHT, 'a')).toMatchObject({ status: 'duplicate', used: 1 });
  });
});

type Step =
  | { do: 'record'; item: number; fully: boolean }
  | { do: 'refund'; nth: number }
  | { do: 'limit'; limit: number }
  | { do: 'wait'; ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('record' as const), item: fc.nat(5), fully: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), nth: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limit' as const), limit: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, DAY_MS / 2, DAY_MS) }) },
);

interface Grant {
  id: string;
  item: number;
  points: number;
  day: number;
}

/** Model of the lib in plain TypeScript: one user, days of UTC, 2 points an item, at most `cap` points or, with 0, any. */
class Model {
  private day = 0;
  private live: Grant[] = [];
  readonly granted: Grant[] = [];
  private readonly refunded = new Set<string>();

  constructor(private readonly cap: number) {}

  record(day: number, item: number, limit: number): { status: RecordResult['status']; points: number; used: number } {
    const live = day === this.day ? this.live : [];
    const sum = live.reduce((total, { points }) => total + points, 0);
    if (live.some((grant) => grant.item === item)) return { status: 'duplicate', points: 0, used: live.length };
    const points = this.cap === 0 ? 2 : Math.min(2, this.cap - sum);
    if (live.length >= limit || points <= 0) return { status: 'capped', points: 0, used: live.length };
    [this.day, this.live] = [day, live];
    return { status: 'rewarded', points, used: live.length + 1 };
  }

  add(grant: Grant): void {
    this.live.push(grant);
    this.granted.push(grant);
  }

  refund(day: number, grant: Grant): string {
    // The user's state is kept for one more day. After that Redis knows no grant of this day.
    if (this.refunded.has(grant.id) && grant.day === this.day && day <= this.day + 1) return 'already-refunded';
    if (grant.day !== this.day || day !== this.day) return 'expired';
    this.refunded.add(grant.id);
    this.live = this.live.filter(({ id }) => id !== grant.id);
    return 'refunded';
  }
}

async function play(userId: string, cap: number, steps: readonly Step[]): Promise<void> {
  const model = new Model(cap);
  let [limit, now] = [2, NOON];
  const rule = () => ({ limit, pointsPerItem: 2, capPoints: cap === 0 ? undefined : cap });
  // With a ledger the other script records; both work on the same keys, in turn.
  const both = () =>
    [
      open(rule(), 'model'),
      bench.service({ model: rule() }, { partitions: 1, ledgerRetentionMs: 86_400_000 }),
    ] as const;
  let [rewards, ledgered] = both();
  await bench.setClock('model', userId, now);
  for (const one of steps) {
    const day = Math.floor(now / DAY_MS);
    if (one.do === 'wait') await bench.setClock('model', userId, (now += one.ms));
    if (one.do === 'limit') limit = one.limit;
    if (one.do === 'limit') [rewards, ledgered] = both();
    if (one.do === 'record') {
      const expected = model.record(day, one.item, limit);
      const answer = await (one.fully ? ledgered : rewards).record({ rule: 'model', userId, itemId: `i${one.item}` });
      expect(answer).toMatchObject(expected);
      expect(answer.resetsAtMs).toBe((day + 1) * DAY_MS);
      if (answer.status === 'rewarded') expect(answer.used).toBeLessThanOrEqual(limit);
      if (answer.grantId) model.add({ id: answer.grantId, item: one.item, points: answer.points, day });
    }
    const grant = one.do === 'refund' ? model.granted[one.nth] : undefined;
    if (grant) expect((await rewards.refund(grant.id)).status).toBe(model.refund(day, grant));
  }
}

it('agrees with a model in random interleavings, and leaves no key without a TTL', async () => {
  const games = fc.sample(
    fc.tuple(fc.constantFrom(0, 0, 3, 4, 5, 6, 7), fc.array(step, { minLength: 4, maxLength: 16 })),
    {
      numRuns: size(120, 10_000),
      seed: 20_261_120,
    },
  );
  for (let from = 0; from < games.length; from += 500) {
    await Promise.all(games.slice(from, from + 500).map(([cap, steps], i) => play(`u${from + i}`, cap, steps)));
  }
  const keys = await bench.raw.keys('*');
  const pipeline = bench.raw.pipeline();
  for (const key of keys) pipeline.pttl(key);
  const ttls = ((await pipeline.exec()) ?? []).map(([, ttl]) => ttl as number);
  expect(keys.length).toBeGreaterThan(size(120, 10_000));
  expect(ttls.filter((ttl) => ttl < 0)).toEqual([]);
}, 300_000);
