import { Redis, type RedisOptions } from 'ioredis';
import type { RedPacketPayouts } from 'luanest/red-packet';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { describeResending } from '../../../test/support/client-kind';
import { eventually } from '../../../test/support/wait';
import {
  byUser,
  figures,
  openBench,
  packetOf,
  QUICK,
  quiet,
  readGrants,
  readOutbox,
  readPool,
  sum,
  type Bench,
} from './support';

const ACTIVITY = 'lossy';
const users = ['a', 'b', 'c', 'd', 'e'];

/** Recognises scripts by their keys. */
const requests: Record<string, (text: string) => boolean> = {
  'add-activity': (text) => text.includes(':partitions') && text.includes(ACTIVITY),
  // Its last arguments are the seed of the split, 32 hex digits, 0 or 1, and the id.
  'begin-activity': (text) => /\$32\r\n[0-9a-f]{32}\r\n\$1\r\n[01]\r\n\$\d+\r\n\w+\r\n$/.test(text),
  'fill-pool': (text) => text.includes(':pool') && !text.includes(':grants'),
  'open-activity': (text) => text.includes(':grants') && text.includes('payouts'),
  grab: (text) => text.includes(':tries') && !text.includes(':refunds'),
  take: (text) => text.includes(':woken') && text.includes(':takes') && text.includes(':tries'),
  'settle-payout': (text) => text.includes(':outbox\r\n') && text.includes(':meta:') && !text.includes(':grants:'),
  settle: (text) => text.includes(':tries:payouts') && !text.includes(':woken') && !text.includes(':due'),
};
const creation = ['add-activity', 'begin-activity', 'fill-pool', 'open-activity'];

describe('a reply that is lost', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let direct: Bench;
  const closing: Bench[] = [];

  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
  });
  beforeEach(async () => {
    direct = await openBench(quiet(new Redis(server.port)), { prefix: 'lost' });
    closing.push(direct);
    await direct.raw.flushall();
  });
  afterEach(() => {
    for (const bench of closing.splice(0)) bench.close();
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  async function through(options: RedisOptions = {}): Promise<Bench> {
    // With a short lease or deadline, a busy machine pays a payout twice, as the README says.
    const bench = await openBench(quiet(new Redis(proxy.port, { retryStrategy: () => 20, ...options })), {
      prefix: 'lost',
      leaseMs: 30_000,
      deadlineMs: 30_000,
    });
    closing.push(bench);
    return bench;
  }

  /** Cuts the connection once, from the reply to the next run of this script; fails where none is run. */
  async function cutting<T>(script: string, work: () => Promise<T>): Promise<T> {
    const cut = proxy.dropReply({
      when: (request) => {
        const text = request;
        return /evalsha/i.test(text) && requests[script]?.(text) === true;
      },
    });
    const status = await Promise.allSettled([work()]);
    await cut;
    if (status[0].status === 'rejected') throw status[0].reason;
    return status[0].value;
  }

  /** Each grant has its row, nobody has two, and pool and grants add up to the total. */
  async function conserved(packets: number, grantees: readonly string[]): Promise<void> {
    const keys = direct.keysOf(ACTIVITY);
    const grants = byUser(await readGrants(direct, keys));
    const pool = await readPool(direct, keys);
    expect(grants.map(({ userId }) => userId)).toEqual([...grantees].sort());
    expect(byUser(await readOutbox(direct, keys))).toEqual(grants);
    const ids = [...grants.map(({ packetId }) => packetId), ...pool.map(([id]) => id)];
    expect(ids).toHaveLength(packets);
    expect(new Set(ids).size).toBe(packets);
    const granted = sum(grants.map(({ amountCents }) => amountCents));
    expect(granted + sum(pool.map(([, cents]) => cents))).toBe(packets * 100);
    expect(Number((await direct.raw.hget(keys.grants, ''))?.split(':')[0])).toBe(granted);
  }

  /** Pays until nothing is open. Answers who was paid, as often as it was so. */
  async function paying(payouts: RedPacketPayouts): Promise<string[]> {
    const paid: string[] = [];
    const run = payouts.run(({ userId }) => void paid.push(userId), QUICK);
    await eventually(async () => {
      expect(await direct.packets.status(ACTIVITY)).toMatchObject({ openPayouts: 0, grantedPackets: 5 });
    });
    await eventually(async () =>
      expect((await direct.raw.xpending(direct.keysOf(ACTIVITY).outbox, 'payouts'))[0]).toBe(0),
    );
    await run.stop();
    return paid;
  }

  describeResending('while the client sends again what was not answered', () => {
    it.each(creation)('of %s: create answers as the replay does, and the activity is made once', async (script) => {
      const { packets } = await through();
      const created = await cutting(script, () => packets.create(figures(ACTIVITY, 1_500)));
      // The repeated opening finds the activity open, and cannot know which call opened it.
      expect(created.created).toBe(script !== 'open-activity');
      await conserved(1_500, []);
      expect(await packets.status(ACTIVITY)).toMatchObject({ state: 'open', remainingPackets: 1_500 });
      expect(await packets.activities()).toEqual([ACTIVITY]);
    });

    it('of a grab: the answer is the packet that was won already', async () => {
      const { packets } = await through();
      await packets.create(figures(ACTIVITY, 10));
      const answer = await cutting('grab', () => packets.grab(ACTIVITY, 'u'));
      expect(answer).toMatchObject({ status: 'already-won' });
      const [grant] = await readGrants(direct, direct.keysOf(ACTIVITY));
      expect(grant).toEqual({ userId: 'u', ...packetOf(answer) });
      await conserved(10, ['u']);
    });

    it('of a whole group of grabs: everyone has the one packet that they were answered', async () => {
      const { packets } = await through();
      await packets.create(figures(ACTIVITY, 100));
      const crowd = Array.from({ length: 60 }, (_, i) => `u${i}`);
      const answers = await cutting('grab', () => Promise.all(crowd.map((user) => packets.grab(ACTIVITY, user))));
      const answered = crowd.map((userId, i) => ({ userId, ...packetOf(answers[i] as (typeof answers)[0]) }));
      expect(byUser(answered)).toEqual(byUser(await readGrants(direct, direct.keysOf(ACTIVITY))));
      expect(answers.some(({ status }) => status === 'already-won')).toBe(true);
      await conserved(100, crowd);
    });

    it.each(['take', 'settle-payout', 'settle'])('of payouts, at their %s: each is paid, once', async (script) => {
      const { packets, payouts } = await through();
      await packets.create(figures(ACTIVITY, 10));
      for (const user of users) await packets.grab(ACTIVITY, user);
      const paid = await cutting(script, () => paying(payouts));
      expect(paid.sort()).toEqual(users);
    });
  });

  describe('while the client sends nothing again', () => {
    const once = { autoResendUnfulfilledCommands: false };
    const unknown = { code: 'UNKNOWN_OUTCOME' };

    it.each(creation)('of %s: create does not know, and a repeat makes it whole', async (script) => {
      const { packets } = await through(once);
      const creating = cutting(script, () => packets.create(figures(ACTIVITY, 1_500)));
      await expect(creating).rejects.toMatchObject(unknown);
      const begun = script !== 'add-activity';
      expect(await direct.raw.exists(direct.keysOf(ACTIVITY).meta)).toBe(begun ? 1 : 0);
      expect(await packets.activities()).toEqual([ACTIVITY]);
      const opened = script === 'open-activity';
      expect(await packets.create(figures(ACTIVITY, 1_500))).toMatchObject({ created: !opened });
      await conserved(1_500, []);
    });

    it('of a grab: packet, user and row are all there, and a repeat answers them', async () => {
      const { packets } = await through(once);
      await packets.create(figures(ACTIVITY, 10));
      await expect(cutting('grab', () => packets.grab(ACTIVITY, 'u'))).rejects.toMatchObject(unknown);
      await conserved(10, ['u']);
      const answer = await packets.grab(ACTIVITY, 'u');
      expect(answer.status).toBe('already-won');
      expect(await readGrants(direct, direct.keysOf(ACTIVITY))).toEqual([{ userId: 'u', ...packetOf(answer) }]);
      await conserved(10, ['u']);
    });

    it('of a connection that is reset under load: each grab is done or not, and repeats settle all', async () => {
      const { packets } = await through(once);
      await packets.create(figures(ACTIVITY, 200));
      const crowd = Array.from({ length: 150 }, (_, i) => `u${i}`);
      const statuses = await cutting('grab', () =>
        Promise.allSettled(
          crowd.map(async (user) => {
            const first = await packets.grab(ACTIVITY, user);
            return [first, await packets.grab(ACTIVITY, user)];
          }),
        ),
      );
      const rejected = statuses.flatMap((status) => (status.status === 'rejected' ? [status.reason as unknown] : []));
      expect(rejected.length).toBeGreaterThan(0);
      for (const reason of rejected) expect(reason).toMatchObject(unknown);
      const holders = (await readGrants(direct, direct.keysOf(ACTIVITY))).map(({ userId }) => userId);
      await conserved(200, holders);
      for (const user of crowd) packetOf(await packets.grab(ACTIVITY, user));
      await conserved(200, crowd);
    });

    it.each(['take', 'settle-payout', 'settle'])(
      'of payouts, at their %s: each is paid, and settled when that is asked again',
      async (script) => {
        const { packets, payouts } = await through(once);
        await packets.create(figures(ACTIVITY, 10));
        for (const user of users) await packets.grab(ACTIVITY, user);
        const paid = await cutting(script, () => paying(payouts));
        expect(paid.sort()).toEqual(users);
      },
    );
  });
});
