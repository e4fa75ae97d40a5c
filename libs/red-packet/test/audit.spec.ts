import type { AuditResult } from 'luanest/red-packet';
import type { PaidPacket } from '../src/audit/audit.types';
import type { Layout } from '../src/buckets/layout';
import { Transfers } from '../src/buckets/transfers';
import { figures, openBench, packetOf, servers, sum, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('the audit on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect());
  });
  afterAll(() => bench.close());

  const audit = async (id: string, options = {}): Promise<AuditResult> => {
    const report = await bench.packets.audit(id, options);
    if (report === undefined) throw new Error(`There is no ${id}.`);
    return report;
  };
  /** Ids of the payout rows of a bucket. */
  const rowsOf = async (outbox: string, meta: string): Promise<string[]> => {
    const owner = await bench.raw.hget(meta, 'activity');
    return (await bench.raw.xrange(outbox, '-', '+')).filter(([, [, of]]) => of === owner).map(([id]) => id);
  };
  const addRow = async (outbox: string, meta: string, user: string, packet: string): Promise<unknown> => {
    const row = ['activity', (await bench.raw.hget(meta, 'activity')) ?? '', 'user', user, 'grant', `${packet}:100:1`];
    return bench.raw.xadd(outbox, '*', ...row);
  };
  /** An activity with grants, packets that will be refunded and a transfer in flight; and the packets that were paid. */
  async function busy(id: string, buckets: number): Promise<PaidPacket[]> {
    await bench.packets.create({ ...figures(id, 2_400, 555_555), buckets });
    const users = Array.from({ length: 1_200 }, (_, i) => `u${i}`);
    const answers = await Promise.all(users.map((user) => bench.packets.grab(id, user)));
    if (buckets > 1) {
      const layout: Layout = { activityId: id, buckets: bench.bucketsOf(id, buckets) };
      await new Transfers(bench.registry).send(layout, { from: 0, to: 1 });
    }
    return answers.map((answer, i) => ({ userId: users[i] as string, ...packetOf(answer) }));
  }

  it.each([1, 4])('is green on a healthy activity with %d buckets, counted or counted out', async (buckets) => {
    const id = `healthy-${buckets}`;
    const paid = await busy(id, buckets);
    const report = await audit(id, { ledger: paid, deadLetters: [] });
    expect(report.problems).toEqual([]);
    const moving = buckets === 1 ? 0 : 150;
    const granted = sum(paid.map(({ amountCents }) => amountCents));
    expect(report).toMatchObject({
      ok: true,
      state: 'open',
      total: { packets: 2_400, cents: 555_555 },
      moving: { packets: expect.any(Number) },
      deep: {
        quiet: true,
        granted: { packets: 1_200, cents: granted },
        outboxRows: 1_200,
        paid: { packets: 1_200, cents: granted },
        rewound: [],
      },
    });
    if (buckets > 1) expect(report.deep?.moving.packets).toBeGreaterThan(moving / 2);
    expect(report.deep?.moving).toEqual(report.moving);
    await bench.packets.close(id);
    const closed = await audit(id, { deep: true });
    expect(closed).toMatchObject({ ok: true, state: 'closed', moving: { packets: 0, cents: 0 } });
    expect(closed.deep?.refunded.packets).toBe(1_200);
    expect(await bench.packets.audit('nobody')).toBeUndefined();
  });

  it('is green at any moment of a rain over buckets that run uneven', async () => {
    await bench.packets.create({ ...figures('watched', 600), buckets: 4 });
    let running = true;
    const raining = Promise.all(
      Array.from({ length: 20 }, async (_, worker) => {
        for (let i = 0; i < 40; i++) await bench.packets.grab('watched', `${worker}-${i}`);
      }),
    ).finally(() => (running = false));
    let audits = 0;
    while (running) {
      expect((await audit('watched')).problems).toEqual([]);
      audits += 1;
    }
    await raining;
    expect(audits).toBeGreaterThan(3);
    expect(await audit('watched', { deep: true })).toMatchObject({ ok: true, state: 'sold-out', problems: [] });
  });

  it.each<[string, (keys: Record<string, string>) => Promise<unknown>, RegExp]>([
    ['a packet taken out of the pool', ({ pool }) => bench.raw.rpop(pool as string), /packets left \+ granted/],
    ['a packet made up', ({ pool }) => bench.raw.lpush(pool as string, '9:100:100'), /packets left \+ granted/],
    [
      'a counter that is off by a cent',
      async ({ grants = '' }) => {
        const [cents, at] = (await bench.raw.hget(grants, ''))?.split(':') ?? [];
        await bench.raw.hset(grants, '', `${Number(cents) + 1}:${at}`);
      },
      /cents left \+ granted/,
    ],
    ['an invalid pool entry', ({ pool }) => bench.raw.lset(pool as string, 0, 'what?'), /cents left \+ granted/],
    ['a grant that is gone', ({ grants }) => bench.raw.hdel(grants as string, 'u1'), /packets left \+ granted/],
  ])('finds %s', async (_what, damage, problem) => {
    const id = `damaged-${Math.random()}`;
    await bench.packets.create(figures(id, 10));
    for (const user of ['u1', 'u2']) await bench.packets.grab(id, user);
    await damage(bench.keysOf(id));
    const report = await audit(id);
    expect(report.ok).toBe(false);
    expect(report.problems.join('\n')).toMatch(problem);
  });

  it.each<[string, (keys: Record<string, string>) => Promise<unknown>, RegExp]>([
    [
      'two packets that changed places with their cents',
      async ({ pool }) => {
        await bench.raw.lset(pool as string, 1, '5:1:500');
      },
      /cents left, counted one by one/,
    ],
    [
      'a packet that is in two hands',
      ({ grants }) => bench.raw.hset(grants as string, 'u2', '1:100:1'),
      /packet 1 is recorded twice in Redis: as granted and as granted|packets granted, counted one by one/,
    ],
    [
      'a payout row that is gone',
      async ({ outbox = '', meta = '' }) => {
        const [id] = await rowsOf(outbox, meta);
        await bench.raw.xdel(outbox, id as string);
      },
      /but the ledger has not paid it, and Redis has no payout for it/,
    ],
    [
      'a payout row of an unknown packet',
      ({ outbox = '', meta = '' }) => addRow(outbox, meta, 'u1', '99'),
      /has a packet "99", which this activity does not have/,
    ],
    [
      'a grant with an invalid packet id',
      ({ grants }) => bench.raw.hset(grants as string, 'u2', '007:100:1'),
      /has a packet "007", which this activity does not have/,
    ],
    [
      'a payout row for somebody else',
      ({ outbox = '', meta = '' }) => addRow(outbox, meta, 'thief', '1'),
      /to "thief", but this user was not granted it/,
    ],
  ])('counts the records and finds %s', async (_what, damage, problem) => {
    const id = `deeply-damaged-${Math.random()}`;
    await bench.packets.create({ ...figures(id, 10), split: 'equal' });
    for (const user of ['u1', 'u2']) await bench.packets.grab(id, user);
    await damage(bench.keysOf(id));
    const report = await audit(id, { ledger: [] });
    expect(report.ok).toBe(false);
    expect(report.problems.join('\n')).toMatch(problem);
  });

  it('finds a bucket that is gone, and the packets that went with it', async () => {
    await bench.packets.create({ ...figures('holed', 20), buckets: 4 });
    for (const user of ['u1', 'u2', 'u3']) await bench.packets.grab('holed', user);
    const gone = bench.bucketsOf('holed', 4)[2];
    for (const key of [gone?.meta, gone?.pool, gone?.grants, gone?.outbox]) await bench.raw.del(key as string);
    for (const deep of [false, true]) {
      const report = await audit('holed', { deep });
      expect(report.ok).toBe(false);
      expect(report.problems.join('\n')).toMatch(/bucket 2 is lost/);
    }
  });

  it('lists every grant that the ledger has paid and Redis has lost, and no other', async () => {
    await bench.packets.create({ ...figures('rewound', 20), split: 'equal' });
    const paid: PaidPacket[] = [];
    for (let i = 0; i < 5; i++)
      paid.push({ userId: `u${i}`, ...packetOf(await bench.packets.grab('rewound', `u${i}`)) });
    const lost = [
      { userId: 'ghost', packetId: '6', amountCents: 100 },
      { userId: 'u0', packetId: '7', amountCents: 100 },
    ];
    const report = await audit('rewound', { ledger: [...paid, ...lost] });
    expect(report.ok).toBe(false);
    expect(report.deep?.rewound).toEqual(lost);
    expect(report.problems).toHaveLength(2);
  });

  it('finds the luckiest, also when the luckiest grant was voided', async () => {
    const amounts = [300, 900, 900, 200, 50, 500];
    await bench.packets.create({ activityId: 'lucky', totalCents: 2_850, packets: 6, amounts });
    expect(await bench.packets.luckiest('lucky')).toBeUndefined();
    for (const user of ['a', 'b', 'c', 'd']) await bench.packets.grab('lucky', user);
    expect(await bench.packets.luckiest('lucky')).toMatchObject({ userId: 'b', packetId: '2', amountCents: 900 });
    // The ledger had paid packet 2 to somebody else.
    expect(await bench.packets.conflict('lucky', { userId: 'b', packetId: '2' })).toMatchObject({
      voided: true,
      now: { status: 'won', packet: { packetId: '5' } },
    });
    expect(await bench.packets.luckiest('lucky')).toMatchObject({ userId: 'c', packetId: '3', amountCents: 900 });
    expect(await bench.packets.luckiest('nobody')).toBeUndefined();
  });

  it('finds the luckiest also in what conflict() took from the ledger', async () => {
    await bench.packets.create({ activityId: 'copied', totalCents: 60, packets: 2, amounts: [10, 50] });
    for (const user of ['u', 'v']) await bench.packets.grab('copied', user);
    const paid = { packetId: '9', amountCents: 100, grantedAtMs: 5 };
    await bench.packets.conflict('copied', { userId: 'u', packetId: '1', paid });
    expect(await bench.packets.luckiest('copied')).toEqual({ userId: 'u', ...paid });
  });

  describe.each([1, 3])('a conflict, with %d buckets', (buckets) => {
    it('over a packet gives its user another, and keeps the books', async () => {
      const id = `packet-${buckets}`;
      await bench.packets.create({ ...figures(id, 6), buckets });
      const first = packetOf(await bench.packets.grab(id, 'u'));
      const answer = await bench.packets.conflict(id, { userId: 'u', packetId: first.packetId });
      expect(answer).toMatchObject({ voided: true, now: { status: 'won' } });
      const second = packetOf(answer.now);
      expect(second.packetId).not.toBe(first.packetId);
      const again = await bench.packets.conflict(id, { userId: 'u', packetId: first.packetId });
      expect(again).toEqual({ voided: true, now: { status: 'already-won', packet: second } });
      expect(await audit(id, { deep: true })).toMatchObject({ ok: true, problems: [] });
      // The money of the void grant is spent, so it stays granted.
      expect(await bench.packets.status(id)).toMatchObject({ grantedPackets: 2, remainingPackets: 4 });
      const ledger = [
        { userId: 'before', ...first },
        { userId: 'u', ...second },
      ];
      expect(await audit(id, { ledger })).toMatchObject({ ok: true, deep: { voided: { packets: 1 }, rewound: [] } });
    });

    it('over a user: the paid packet stays, the other is refunded, and sold out stays true', async () => {
      const id = `user-${buckets}`;
      await bench.packets.create({ ...figures(id, 4), buckets });
      const users = ['a', 'b', 'c', 'd'];
      const answers = await Promise.all(users.map((user) => bench.packets.grab(id, user)));
      expect((await bench.packets.grab(id, 'late')).status).toBe('sold-out');
      const [void_, other] = [packetOf(answers[0] as never), packetOf(answers[1] as never)];
      const paid = { packetId: other.packetId, amountCents: 77, grantedAtMs: 5 };
      for (let i = 0; i < 2; i++) {
        expect(await bench.packets.conflict(id, { userId: 'a', packetId: void_.packetId, paid })).toEqual({
          voided: true,
          now: { status: 'already-won', packet: paid },
        });
      }
      expect(await bench.packets.status(id)).toMatchObject({
        state: 'sold-out',
        grantedPackets: 3,
        refundedPackets: 1,
        refundedCents: void_.amountCents,
        remainingCents: 0,
      });
      expect((await bench.packets.grab(id, 'late')).status).toBe('sold-out');
      expect(await audit(id, { deep: true })).toMatchObject({ ok: true, problems: [] });
      expect(await bench.packets.close(id)).toMatchObject({ refundedPackets: 1, refundedCents: void_.amountCents });
      expect(await audit(id, { deep: true })).toMatchObject({ ok: true, problems: [] });
    });

    it('changes nothing for a packet that the user does not have', async () => {
      const id = `none-${buckets}`;
      await bench.packets.create({ ...figures(id, 3), buckets });
      await bench.packets.pause(id);
      const answer = await bench.packets.conflict(id, { userId: 'u', packetId: '1' });
      expect(answer).toMatchObject({ voided: false, now: { reason: 'paused' } });
      await expect(bench.packets.conflict(id, { userId: 'u', packetId: 'x' })).rejects.toThrow(/^packetId is /);
      const paid = { packetId: '1', amountCents: 0, grantedAtMs: 1 };
      await expect(bench.packets.conflict(id, { userId: 'u', packetId: '1', paid })).rejects.toThrow(
        /^amountCents is /,
      );
    });
  });
});
