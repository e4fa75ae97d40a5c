import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { GrabResult, Packet } from 'luanest/red-packet';
import { startRedis } from 'luanest/testing/servers';
import { note } from '../../../test/support/fault-notes';
import { eventually, sleep } from '../../../test/support/wait';
import type { Layout } from '../src/buckets/layout';
import { Transfers } from '../src/buckets/transfers';
import type { Sent } from '../src/buckets/bucket.scripts';
import { figures, openBench, quiet, servers, settleRows, takeRows, untilAnswered, type Bench } from './support';
import { size } from '../../../test/support/size';

const PACKETS = 9;
const USERS = 14;
const small = (max: number) => fc.integer({ min: 0, max });

const step = fc.oneof(
  { weight: 80, arbitrary: fc.record({ do: fc.constant('grab' as const), user: small(USERS - 1) }) },
  {
    weight: 40,
    arbitrary: fc.record({ do: fc.constant('transfer' as const), from: small(3), to: small(3), steps: small(3) }),
  },
  { weight: 20, arbitrary: fc.record({ do: fc.constant('replay' as const), which: small(9) }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('conflict' as const), which: small(9), ofUser: fc.boolean() }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const, 'create' as const) }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('payout' as const), settle: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('close' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** One activity, and the results that its users got. */
class History {
  private readonly told = new Map<string, Packet>();
  private readonly voided = new Set<string>();
  private readonly sent: [from: number, to: number, Sent][] = [];
  private readonly layout: Layout;
  private readonly transfers: Transfers;

  constructor(
    private readonly benches: readonly Bench[],
    private readonly id: string,
    private readonly buckets: number,
  ) {
    const [bench] = benches as [Bench];
    this.layout = { activityId: id, buckets: bench.bucketsOf(id, buckets) };
    this.transfers = new Transfers(bench.registry);
  }

  get activity() {
    return { ...figures(this.id, PACKETS, 12_347), buckets: this.buckets };
  }

  async run(step: Step, bench: Bench): Promise<void> {
    const { packets } = bench;
    switch (step.do) {
      case 'grab':
        return this.heard(`u${step.user}`, await packets.grab(this.id, `u${step.user}`));
      case 'transfer':
        return this.transfer(step.from % this.buckets, step.to % this.buckets, step.steps);
      case 'replay': {
        // What a process that had stalled does when it wakes up.
        const [from, to, sent] = this.sent[step.which % Math.max(1, this.sent.length)] ?? [];
        if (from === undefined || to === undefined || sent === undefined) return;
        const way = { from, to };
        // It got so far only when the packets had arrived: a confirmation follows its arrival.
        if (await this.transfers.receive(this.layout, way, sent)) await this.transfers.confirm(this.layout, way, sent);
        return;
      }
      case 'conflict':
        return this.conflict(bench, step.which, step.ofUser);
      case 'payout': {
        for (const { outbox } of this.layout.buckets) {
          const ids = await takeRows(bench, outbox, 3);
          if (step.settle) await settleRows(bench, outbox, ids);
        }
        return;
      }
      case 'create':
        expect(await packets.create(this.activity)).toMatchObject({ created: false });
        return;
      case 'pause':
      case 'resume':
      case 'close':
        await packets[step.do](this.id);
    }
  }

  /** At any moment. */
  async check(): Promise<void> {
    const report = await this.benches[0]?.packets.audit(this.id);
    expect(report?.problems).toEqual([]);
    expect(report?.moving.packets).toBeGreaterThanOrEqual(0);
  }

  /** When nothing happens any more. */
  async end(): Promise<void> {
    const [bench] = this.benches as [Bench];
    const before = await bench.packets.audit(this.id, { deep: true });
    expect(before).toMatchObject({ ok: true, problems: [], deep: { quiet: true } });
    await Promise.all([this.benches[0]?.packets.close(this.id), this.benches[1]?.packets.close(this.id)]);
    const after = await bench.packets.audit(this.id, { deep: true });
    expect(after).toMatchObject({ ok: true, problems: [], state: 'closed', moving: { packets: 0, cents: 0 } });
    const spent = (after?.deep?.granted.cents ?? 0) + (after?.deep?.voided.cents ?? 0);
    expect(spent + (after?.deep?.refunded.cents ?? 0)).toBe(12_347);
    for (const [user, packet] of this.told) expect(await bench.packets.packetOf(this.id, user)).toEqual(packet);
    const ids = [...this.told].filter(([user]) => !this.voided.has(user)).map(([, { packetId }]) => packetId);
    expect(new Set(ids).size).toBe(ids.length);
  }

  private async heard(user: string, answer: GrabResult): Promise<void> {
    const before = this.told.get(user);
    if (before !== undefined) return expect(answer).toEqual({ status: 'already-won', packet: before });
    if (answer.status === 'won') this.told.set(user, answer.packet);
    else expect(answer.status).toMatch(/^(sold-out|not-open)$/);
    if (answer.status !== 'sold-out') return;
    const status = await this.benches[0]?.packets.status(this.id);
    expect(status).toMatchObject({ remainingPackets: 0, movingPackets: 0, remainingCents: 0 });
  }

  private async transfer(from: number, to: number, steps: number): Promise<void> {
    if (from === to || steps === 0) return;
    const way = { from, to };
    const sent = await this.transfers.send(this.layout, way);
    if (sent === undefined) return;
    this.sent.push([from, to, sent]);
    if (steps > 1) await this.transfers.receive(this.layout, way, sent);
    if (steps > 2) await this.transfers.confirm(this.layout, way, sent);
  }

  private async conflict({ packets }: Bench, which: number, ofUser: boolean): Promise<void> {
    const users = [...this.told.keys()].filter((user) => !this.voided.has(user));
    const userId = users[which % Math.max(1, users.length)];
    if (userId === undefined) return;
    const { packetId } = this.told.get(userId) as Packet;
    this.voided.add(userId);
    if (ofUser) {
      const paid = { packetId: '1', amountCents: 5, grantedAtMs: 1 };
      const { now } = await packets.conflict(this.id, { userId, packetId, paid });
      expect(now).toEqual({ status: 'already-won', packet: paid });
      this.told.set(userId, paid);
      return;
    }
    this.told.delete(userId);
    const { voided, now } = await packets.conflict(this.id, { userId, packetId });
    expect(voided).toBe(true);
    await this.heard(userId, now);
  }
}

describe.each(servers)('random histories on %s', (name, connect) => {
  let benches: Bench[];
  beforeAll(async () => {
    const one = await openBench(connect(), { soldOutMs: 0 });
    benches = [one, await openBench(connect(), { prefix: one.prefix, soldOutMs: 0 })];
  });
  afterAll(() => benches.forEach((bench) => bench.close()));

  const runs = name === 'standalone' ? size(4, 700) : size(2, 300);
  it('conserve every packet and every cent at each step', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 2, 4),
        fc.array(fc.tuple(step, fc.boolean()), { minLength: 5, maxLength: 25 }),
        async (buckets, steps) => {
          const history = new History(benches, `history-${(run += 1)}`, buckets);
          await benches[0]?.packets.create(history.activity);
          for (const [each, second] of steps) {
            await history.run(each, benches[second ? 1 : 0] as Bench);
            await history.check();
          }
          await history.end();
        },
      ),
      { numRuns: runs, seed: 20_260_207 },
    );
  }, 240_000);
});

/** A grab, from call to answer. */
interface Heard {
  readonly from: number;
  readonly to: number;
  readonly status: GrabResult['status'];
}

/**
 * Finds wins that contradict an earlier "sold out". Packets never come back, so if a call that began after a sold-out reply
 * won a packet, that reply was false.
 */
function contradictions(history: readonly Heard[]): Heard[] {
  const firstSoldOut = Math.min(...history.filter(({ status }) => status === 'sold-out').map(({ to }) => to));
  return history.filter(({ status, from }) => status === 'won' && from > firstSoldOut);
}

describe('a checker of histories', () => {
  it('finds a win that began after a user had got sold-out, and no other', () => {
    const early: Heard = { from: 0, to: 5, status: 'won' };
    const told: Heard = { from: 1, to: 6, status: 'sold-out' };
    const during: Heard = { from: 5, to: 9, status: 'won' };
    const late: Heard = { from: 7, to: 8, status: 'won' };
    expect(contradictions([early, told, during])).toEqual([]);
    expect(contradictions([early, told, during, late])).toEqual([late]);
    expect(contradictions([early, late])).toEqual([]);
  });
});

describe.each(servers)('the result sold-out on %s', (_name, connect) => {
  it.each([1, 4, 16])('is returned only when nothing is left, with %d buckets and moving packets', async (buckets) => {
    const one = await openBench(connect());
    const benches = [one, await openBench(connect(), { prefix: one.prefix })];
    try {
      for (let round = 0; round < size(1, 6); round++) {
        const id = `told-${round}`;
        await one.packets.create({ ...figures(id, 48), buckets });
        const layout: Layout = { activityId: id, buckets: one.bucketsOf(id, buckets) };
        const transfers = new Transfers(one.registry);
        const heard: Heard[] = [];
        let raining = true;
        // Moves packets about all the time, and leaves some transfers half done.
        const moving = (async () => {
          for (let turn = 0; raining && buckets > 1; turn++) {
            const way = { from: turn % buckets, to: (turn * 7 + 1) % buckets };
            if (way.from === way.to) continue;
            if (turn % 3 === 0) await transfers.send(layout, way);
            else await transfers.move(layout, way);
          }
        })();
        await Promise.all(
          Array.from({ length: 24 }, async (_, worker) => {
            for (let i = 0; i < 5; i++) {
              const from = performance.now();
              const { packets } = benches[worker % 2] as Bench;
              const { status } = await packets.grab(id, `u${worker}-${i}`);
              heard.push({ from, to: performance.now(), status });
            }
          }),
        );
        raining = false;
        await moving;
        expect(contradictions(heard)).toEqual([]);
        const told = heard.filter(({ status }) => status === 'sold-out').length;
        const won = heard.filter(({ status }) => status === 'won').length;
        if (told > 0) expect(won).toBe(48);
        expect(won + told + heard.filter(({ status }) => status === 'try-again').length).toBe(120);
        expect(await one.packets.audit(id, { deep: true })).toMatchObject({ ok: true, problems: [] });
      }
    } finally {
      benches.forEach((bench) => bench.close());
    }
  });
});

describe('a server that is killed again and again, with AOF and fsync always', () => {
  it('has after each failover every packet that was confirmed, and all cents', async () => {
    const server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const client = (): Redis => quiet(new Redis(server.port, { retryStrategy: () => 20, maxRetriesPerRequest: null }));
    const one = await openBench(client(), { deadlineMs: 20_000 });
    const benches = [one, await openBench(client(), { prefix: one.prefix, deadlineMs: 20_000 })];
    try {
      await one.packets.create({ ...figures('mortal', 2_700, 123_456), buckets: 3 });
      const layout: Layout = { activityId: 'mortal', buckets: one.bucketsOf('mortal', 3) };
      const transfers = new Transfers(one.registry);
      const told = new Map<string, Packet>();
      let [running, next] = [true, 0];
      const tapping = Array.from({ length: 12 }, async (_, worker) => {
        while (running) {
          const user = `u${(next += 1)}`;
          const answer = await untilAnswered(() => (benches[worker % 2] as Bench).packets.grab('mortal', user));
          if (answer.status === 'won' || answer.status === 'already-won') told.set(user, answer.packet);
          await sleep(4);
        }
      });
      const moving = (async () => {
        for (let turn = 0; running; turn++) {
          const way = { from: turn % 3, to: (turn + 1) % 3 };
          await untilAnswered(async () => (turn % 2 === 0 ? transfers.send(layout, way) : transfers.move(layout, way)));
          await sleep(5);
        }
      })();
      for (let kill = 0; kill < size(2, 5); kill++) {
        const before = told.size;
        await eventually(() => expect(told.size).toBeGreaterThan(before + 25));
        await server.kill();
        await server.restart();
        const report = await one.packets.audit('mortal');
        expect(report?.problems).toEqual([]);
      }
      running = false;
      await Promise.all([...tapping, moving]);
      note('messages, tasks, slots and grabs checked one by one', told.size);
      await one.packets.close('mortal');
      expect(await one.packets.audit('mortal', { deep: true })).toMatchObject({ ok: true, problems: [] });
      for (const [user, packet] of told) expect(await one.packets.packetOf('mortal', user)).toEqual(packet);
    } finally {
      benches.forEach((bench) => bench.close());
      await server.stop();
    }
  }, 60_000);
});
