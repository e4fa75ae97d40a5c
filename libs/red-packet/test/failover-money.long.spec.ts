import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/wait';
import { FailingMaster, PaidOnce } from './failing-master';
import { QUICK, type Bench } from './support';

/** Number of failovers, and the seed of the first one. */
const ROUNDS = Number(process.env['FAILOVER_ROUNDS'] ?? 50);
const SEED = Number(process.env['FAILOVER_SEED'] ?? 1);

/** Returns a function that returns integers from `least` to `most`, the same ones for each seed. */
function randomIntegers(seed: number): (least: number, most: number) => number {
  let state = seed * 0x9e37_79b9;
  return (least, most) => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return least + Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * (most - least + 1));
  };
}

/** Packets that each user has seen, and how often a win was unconfirmed. */
class Seen {
  readonly packets = new Map<string, Set<string>>();
  unconfirmed = 0;

  /** Grabs until there is a final answer, at most `tries` times. */
  async grab({ packets }: Bench, user: string, tries: number): Promise<void> {
    for (let i = 0; i < tries; i++) {
      const answer = await packets.grab('a', user).catch(() => undefined);
      if (answer?.status === 'won' || answer?.status === 'already-won') {
        this.packets.set(user, (this.packets.get(user) ?? new Set()).add(answer.packet.packetId));
        return;
      }
      if (answer?.status === 'unconfirmed') this.unconfirmed += 1;
      else if (answer !== undefined && answer.status !== 'try-again') return;
      await sleep(20);
    }
  }
}

/** Returns the users whose payment the master of the moment does not know. */
async function unknownTo({ packets }: Bench, paid: PaidOnce['rows']): Promise<string[]> {
  const unknown: string[] = [];
  for (const { userId, packetId } of paid) {
    const packet = await eventually(() => packets.packetOf('a', userId));
    if (packet?.packetId !== packetId) unknown.push(userId);
  }
  return unknown;
}

async function runRound(redis: FailingMaster, seed: number) {
  const random = randomIntegers(seed);
  const benches = await Promise.all([redis.connect(), redis.connect(), redis.connect()]);
  const [first] = benches;
  const any = (): Bench => benches[random(0, 2)] as Bench;
  const [packets, count] = [random(20, 60), random(20, 70)];
  const totalCents = packets * random(5, 90) + random(0, 9);
  await first.packets.create({ activityId: 'a', packets, totalCents, buckets: [1, 1, 3][random(0, 2)] ?? 1 });
  await redis.replicated();
  const ledger = new PaidOnce();
  const runs = benches.map((bench) => bench.payouts.run(ledger.handlerFor(bench), { ...QUICK, attempts: 9_999 }));
  const seen = new Seen();
  const users = Array.from({ length: count }, (_, i) => `user-${i}`);
  const comesBack = new Set(users.filter(() => random(0, 9) < 6));
  const failsAt = random(5, Math.floor(count / 2));
  let [next, unknown]: [number, string[]] = [0, []];
  const failOver = async (): Promise<void> => {
    redis.sever();
    await sleep(random(0, 600));
    await redis.kill();
    const paid = ledger.rows;
    await redis.promote();
    unknown = await unknownTo(first, paid);
    await redis.addReplica();
  };
  let failing: Promise<void> | undefined;
  const visitor = async (): Promise<void> => {
    while (next < users.length) {
      const at = next++;
      if (at === failsAt) failing = failOver();
      const user = users[at] ?? '';
      await seen.grab(any(), user, comesBack.has(user) ? 200 : 1);
    }
  };
  await Promise.all(Array.from({ length: 6 }, visitor));
  await failing;
  // Those who come back see what they had seen before.
  for (const user of comesBack) await seen.grab(any(), user, 200);
  await eventually(async () => expect((await first.packets.status('a'))?.openPayouts).toBe(0), { timeoutMs: 60_000 });
  const closed = await eventually(() => any().packets.close('a'), { timeoutMs: 60_000 });
  await Promise.all(runs.map((run) => run.stop()));
  const audit = await first.packets.audit('a', { ledger: ledger.rows });
  const paidPackets = new Map(ledger.rows.map(({ userId, packetId }) => [userId, packetId]));
  const takenAway = [...seen.packets].filter(([user, ids]) => ids.size > 1 || !ids.has(paidPackets.get(user) ?? ''));
  return {
    figures: {
      confirmed: seen.packets.size,
      unconfirmed: seen.unconfirmed,
      paid: ledger.rows.length,
      refused: ledger.refused.length,
    },
    wrong: {
      unknown,
      takenAway: takenAway.map(([user]) => user),
      cents: ledger.cents + (closed?.refundedCents ?? 0) - totalCents,
      problems: audit?.problems,
    },
  };
}

it(
  'with replicas, failovers lose no confirmed win, and paid + refunded = total',
  async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    jest.spyOn(Logger.prototype, 'log').mockImplementation();
    const total = { rounds: 0, confirmed: 0, unconfirmed: 0, paid: 0, refused: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const redis = await FailingMaster.start();
      try {
        const { figures, wrong } = await runRound(redis, SEED + round);
        const right = { unknown: [], takenAway: [], cents: 0, problems: [] };
        expect({ seed: SEED + round, ...wrong }).toEqual({ seed: SEED + round, ...right });
        total.rounds += 1;
        for (const name of ['confirmed', 'unconfirmed', 'paid', 'refused'] as const) total[name] += figures[name];
      } finally {
        await redis.stop();
      }
    }
    process.stdout.write(`${JSON.stringify(total)}\n`);
    // Otherwise the failovers had nothing to lose.
    expect(total.unconfirmed).toBeGreaterThan(0);
  },
  ROUNDS * 60_000,
);
