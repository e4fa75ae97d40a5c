import type { ActivityStatus, GrabResult } from 'luanest/red-packet';
import { setPause } from '../src/activity/activity.scripts';
import type { BucketKeys } from '../src/buckets/layout';
import { eventually } from '../../../test/support/wait';
import {
  before,
  dumpKeys,
  figures,
  openBench,
  packetOf,
  ownKeys,
  payAll,
  redisNow,
  RETENTION_MS,
  servers,
  type Bench,
} from './support';
import { few } from '../../../test/support/few';

const outcomeOf = ({ status }: GrabResult): string => status;

describe.each(few(servers))('the life of an activity on %s', (_name, connect) => {
  let bench: Bench;
  let others: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
    others = await openBench(connect(), { prefix: bench.prefix });
  });
  afterAll(() => [bench, others].forEach((each) => each.close()));

  const state = async (id: string): Promise<ActivityStatus['state'] | undefined> =>
    (await bench.packets.status(id))?.state;

  describe.each([1, 4])('with %d buckets', (buckets) => {
    const named = (name: string): string => `${name}-${buckets}`;

    it('is preheated until startsAt, says when that is, and opens by Redis’ clock', async () => {
      const [id, starts] = await before(bench, 400, async (startsAtMs, turn) => {
        const name = named(`early-${turn}`);
        await bench.packets.create({ ...figures(name, 8), buckets, startsAtMs });
        const early = await bench.packets.grab(name, 'u');
        expect(early).toMatchObject({ status: 'not-open', reason: 'preheated' });
        const wait = (early as { retryAfterMs: number }).retryAfterMs;
        expect(wait).toBeGreaterThan(0);
        expect(wait).toBeLessThanOrEqual(400 * turn);
        expect(await state(name)).toBe('preheated');
        return [name, startsAtMs];
      });
      const won = await eventually(async () => {
        const answer = await bench.packets.grab(id, 'u');
        expect(answer.status).toBe('won');
        return answer;
      });
      expect(packetOf(won).grantedAtMs).toBeGreaterThanOrEqual(starts);
      expect(await state(id)).toBe('open');
    });

    it('ends at endsAtMs, while winners still see their packet', async () => {
      const [id, won, ends] = await before(bench, 500, async (endsAtMs, turn) => {
        const name = named(`ending-${turn}`);
        await bench.packets.create({ ...figures(name, 8), buckets, endsAtMs });
        const first = await bench.packets.grab(name, 'u');
        expect(first.status).toBe('won');
        return [name, first, endsAtMs];
      });
      await eventually(async () => expect(await state(id)).toBe('ended'));
      expect(await bench.packets.grab(id, 'v')).toEqual({ status: 'not-open', reason: 'ended' });
      const again = await bench.packets.grab(id, 'u');
      expect(again).toEqual({ status: 'already-won', packet: packetOf(won) });
      const status = await bench.packets.status(id);
      expect(status?.expiresAtMs).toBe(ends + 600_000);
      // Closing at the end, as a task does.
      expect(await bench.packets.close(id)).toMatchObject({ closed: true, refundedPackets: 7 });
      expect(await bench.packets.grab(id, 'v')).toMatchObject({ reason: 'closed' });
    });

    it('without an end it ends after it opens, and is kept for the retention from then', async () => {
      const id = named('in-a-month');
      const startsAtMs = (await redisNow(bench)) + 30 * 86_400_000;
      await bench.packets.create({ ...figures(id, 8), buckets, startsAtMs });
      const status = await bench.packets.status(id);
      expect(status).toMatchObject({ state: 'preheated', expiresAtMs: startsAtMs + RETENTION_MS });
      expect(status?.endsAtMs).toBe(startsAtMs + RETENTION_MS / 2);
    });

    it('has one state after a pause and a resume at the same time: that of the later one', async () => {
      const id = named('two-operators');
      await bench.packets.create({ ...figures(id, 8), buckets });
      const run = bench.registry.run.bind(bench.registry) as (...call: unknown[]) => Promise<unknown>;
      let resumed: Promise<unknown> | undefined;
      let calls = 0;
      // The pause reaches the first bucket, then the other operator resumes all of them.
      const slow = jest.spyOn(bench.registry, 'run').mockImplementation(async (...call: unknown[]) => {
        if (call[0] === setPause && calls++ > 0) await (resumed ??= others.packets.resume(id));
        return run(...call);
      });
      const answer = await bench.packets.pause(id);
      slow.mockRestore();
      const readings = await bench.activities.transfers.readAll(bench.activities.layouts.build(id, buckets));
      expect(new Set(readings.map((reading) => reading.state)).size).toBe(1);
      expect(answer).toBe(readings[0]?.state);
    });

    it('takes no grabs while it is paused, and goes on where it was', async () => {
      const id = named('paused');
      await bench.packets.create({ ...figures(id, 8), buckets });
      const won = await bench.packets.grab(id, 'u');
      expect(await bench.packets.pause(id)).toBe('paused');
      expect(await bench.packets.pause(id)).toBe('paused');
      expect(await others.packets.grab(id, 'v')).toEqual({ status: 'not-open', reason: 'paused' });
      expect(await others.packets.grab(id, 'u')).toEqual({ status: 'already-won', packet: packetOf(won) });
      expect(await bench.packets.resume(id)).toBe('open');
      expect(await bench.packets.resume(id)).toBe('open');
      expect((await others.packets.grab(id, 'v')).status).toBe('won');
    });

    it('is sold out when all are gone, and closed for good', async () => {
      const id = named('gone');
      await bench.packets.create({ ...figures(id, 4), buckets });
      const users = Array.from({ length: 4 }, (_, i) => `u${i}`);
      const answers = await Promise.all(users.map((user) => bench.packets.grab(id, user)));
      expect(answers.map(outcomeOf)).toEqual(['won', 'won', 'won', 'won']);
      expect(await others.packets.grab(id, 'late')).toEqual({ status: 'sold-out' });
      expect(await state(id)).toBe('sold-out');
      expect(await bench.packets.close(id)).toEqual({
        activityId: id,
        closed: true,
        refundedPackets: 0,
        refundedCents: 0,
      });
      expect(await state(id)).toBe('closed');
      expect(await bench.packets.resume(id)).toBe('closed');
      expect(await bench.packets.pause(id)).toBe('closed');
    });

    it('refunds what is left once, to the cent, however many close it at once', async () => {
      const id = named('refunded');
      await bench.packets.create({ ...figures(id, 40, 12_345), buckets });
      const won = await Promise.all(Array.from({ length: 7 }, (_, i) => bench.packets.grab(id, `u${i}`)));
      const granted = won.reduce((sum, answer) => sum + packetOf(answer).amountCents, 0);
      const closings = await Promise.all(
        Array.from({ length: 9 }, (_, i) => (i % 2 === 0 ? bench : others).packets.close(id)),
      );
      for (const closing of closings) {
        expect(closing).toMatchObject({ refundedPackets: 33, refundedCents: 12_345 - granted });
      }
      expect(closings.some((closing) => closing?.closed)).toBe(true);
      expect(await bench.packets.close(id)).toMatchObject({ closed: false, refundedPackets: 33 });
      expect(await bench.packets.status(id)).toMatchObject({
        state: 'closed',
        remainingPackets: 0,
        remainingCents: 0,
        grantedPackets: 7,
        grantedCents: granted,
        refundedCents: 12_345 - granted,
      });
      // The record of it: the packets that nobody has.
      const keys = bench.bucketsOf(id, buckets);
      const refunded = (await Promise.all(keys.map(({ refunds }) => bench.raw.lrange(refunds, 0, -1)))).flat();
      expect(refunded.reduce((sum, entry) => sum + Number(entry.split(':')[1]), 0)).toBe(12_345 - granted);
      const ids = [...refunded.map((entry) => entry.split(':')[0]), ...won.map((answer) => packetOf(answer).packetId)];
      expect(new Set(ids).size).toBe(40);
    });

    it('grants nothing any more while others close it', async () => {
      const id = named('racing');
      await bench.packets.create({ ...figures(id, 300), buckets });
      const grabs = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? bench : others).packets.grab(id, `u${i}`));
      const closing = Promise.all([bench.packets.close(id), others.packets.close(id)]);
      const answers = await Promise.all(grabs);
      await closing;
      const winners = answers.filter(({ status }) => status === 'won').length;
      expect(await bench.packets.close(id)).toMatchObject({ closed: false, refundedPackets: 300 - winners });
      expect(await bench.packets.status(id)).toMatchObject({ grantedPackets: winners, remainingCents: 0 });
    });

    it('limits the grabs by which a user gets nothing, and leaves winners alone', async () => {
      const id = named('tries');
      await bench.packets.create({ ...figures(id, buckets), buckets, maxTries: 2 });
      const strict = await openBench(connect(), { prefix: bench.prefix, soldOutMs: 0 });
      try {
        const users = Array.from({ length: buckets }, (_, i) => `w${i}`);
        for (const user of users) expect((await strict.packets.grab(id, user)).status).toBe('won');
        const loser = await openBench(connect(), { prefix: bench.prefix });
        try {
          expect((await loser.packets.grab(id, 'loser')).status).toBe('sold-out');
          // A process that does not remember the activity asks Redis.
          expect((await others.packets.grab(id, 'loser')).status).toBe('sold-out');
          const third = await openBench(connect(), { prefix: bench.prefix });
          expect(await third.packets.grab(id, 'loser')).toEqual({
            status: 'too-many-tries',
          });
          expect((await third.packets.grab(id, users[0] as string)).status).toBe('already-won');
          third.close();
        } finally {
          loser.close();
        }
      } finally {
        strict.close();
      }
    });

    it('leaves no key behind after its retention', async () => {
      // What a process remembers of it may last longer.
      const short = await openBench(connect(), { retentionMs: 700, soldOutMs: 0 });
      try {
        const id = named('short');
        // Made again where it was over before it opened.
        await eventually(() => short.packets.create({ ...figures(id, 2 * buckets), buckets, maxTries: 3 }));
        await Promise.all(Array.from({ length: 2 * buckets + 2 }, (_, i) => short.packets.grab(id, `u${i}`)));
        await short.packets.close(id);
        await payAll(short, id);
        expect(await short.packets.settle(id)).toBe(true);
        const own = (each: BucketKeys): string[] => Object.values(ownKeys(each));
        const keys = short.bucketsOf(id, buckets).flatMap(own);
        const root = short.bucketsOf(id, 1).flatMap(own);
        const alive = async (list: readonly string[]): Promise<number> =>
          (await Promise.all(list.map((key) => short.raw.exists(key)))).reduce((sum, found) => sum + found, 0);
        const ttls = await Promise.all([...keys, ...root].map((key) => short.raw.pttl(key)));
        expect(ttls).not.toContain(-1);
        await eventually(async () => expect(await alive(keys)).toBe(0));
        expect(await short.raw.pttl(root[0] as string)).toBeLessThanOrEqual(61_000);
        if (buckets > 1) await short.raw.del(root[0] as string);
        expect(await short.packets.grab(id, 'u')).toMatchObject({ reason: 'unknown' });
        expect(await short.packets.status(id)).toBeUndefined();
        expect(await short.packets.close(id)).toBeUndefined();
        expect(await short.packets.pause(id)).toBeUndefined();
        expect(await alive(root)).toBe(0);
      } finally {
        short.close();
      }
    });
  });

  it('leaves a draft alone that is closed or paused, and refuses an end that is over', async () => {
    const endsAtMs = (await redisNow(bench)) - 1;
    await expect(bench.packets.create({ ...figures('over', 3), endsAtMs })).rejects.toThrow(/^endsAtMs is /);
    expect(await bench.packets.status('over')).toBeUndefined();
    await bench.packets.create(figures('draft', 3));
    const { meta, ...rest } = bench.keysOf('draft');
    await bench.raw.del(...Object.values(rest));
    await bench.raw.hset(meta, 'state', 'draft');
    await bench.raw.pexpire(meta, RETENTION_MS);
    const before = await dumpKeys(bench, [meta]);
    expect(await bench.packets.close('draft')).toMatchObject({ closed: false, refundedPackets: 0 });
    expect(await bench.packets.pause('draft')).toBe('draft');
    expect(await dumpKeys(bench, [meta])).toEqual(before);
  });

  it('asks the app who may take part', async () => {
    const asked: string[] = [];
    const picky = await openBench(connect(), {
      prefix: bench.prefix,
      settings: {
        eligibility: (activityId, userId) => {
          asked.push(`${activityId}/${userId}`);
          if (userId === 'broken') throw new Error('no answer');
          return Promise.resolve(userId !== 'minor');
        },
      },
    });
    try {
      await picky.packets.create(figures('adults', 3));
      const refused = { status: 'not-eligible' };
      expect(await picky.packets.grab('adults', 'minor')).toEqual(refused);
      await expect(picky.packets.grab('adults', 'broken')).rejects.toThrow('no answer');
      expect((await picky.packets.grab('adults', 'adult')).status).toBe('won');
      expect(asked).toEqual(['adults/minor', 'adults/broken', 'adults/adult']);
      expect(await picky.packets.status('adults')).toMatchObject({ grantedPackets: 1 });
    } finally {
      picky.close();
    }
  });

  it('asks no clock of the app', async () => {
    const skewed = jest.spyOn(Date, 'now');
    try {
      for (const offset of [-600_000, 600_000]) {
        skewed.mockImplementation(() => performance.timeOrigin + performance.now() + offset);
        const id = await before(bench, 300, async (startsAtMs, turn) => {
          const name = `skew${offset}-${turn}`;
          const endsAtMs = startsAtMs + 600 * turn;
          await bench.packets.create({ ...figures(name, 4), startsAtMs, endsAtMs, buckets: 2 });
          expect(await bench.packets.grab(name, 'u')).toMatchObject({ reason: 'preheated' });
          const wins = async () => expect((await bench.packets.grab(name, 'u')).status).toBe('won');
          return eventually(wins, { timeoutMs: 900 * turn }).then(() => name);
        });
        await eventually(async () => expect(await state(id)).toBe('ended'));
        expect(await bench.packets.grab(id, 'v')).toMatchObject({ reason: 'ended' });
      }
    } finally {
      skewed.mockRestore();
    }
  });
});
