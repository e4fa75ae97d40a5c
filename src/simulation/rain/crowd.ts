import type { Packet } from 'luanest/red-packet';
import type { AppClient } from './app-client';
import type { RainOptions } from './rain-options';
import { seededRandom, shuffle } from './shuffle';

/** Results of one user. */
export interface Player {
  readonly userId: string;
  readonly token: string;
  /** First packet that the user got; undefined without a packet. */
  packet: Packet | undefined;
  /** Taps with a result. */
  taps: number;
}

/** Results of the crowd. */
export interface CrowdResult {
  readonly players: readonly Player[];
  /** Latency of each grab, ms, ascending. */
  readonly latenciesMs: Float64Array;
  /** Time from the first grab to the last response, ms. */
  readonly tookMs: number;
  /** Results that contradict each other or the rules, in words. */
  readonly oddities: readonly string[];
}

/** Called after each step of a phase. */
export type OnStep = (phase: 'guests' | 'taps', done: number, of: number) => void;

/** Plays a crowd against the app: each user gets a token, then all taps are sent in shuffled order. */
export async function playCrowd(app: AppClient, options: RainOptions, onStep: OnStep): Promise<CrowdResult> {
  const { users, taps, concurrency, activityId, seed } = options;
  const players: Player[] = [];
  await eachParallel(users, concurrency, async () => {
    players.push({ ...(await app.guest()), packet: undefined, taps: 0 });
    onStep('guests', players.length, users);
  });

  // The taps of one user are anywhere in the order, so some may overlap, as with an impatient user.
  const order = shuffle(
    players.flatMap((player) => Array<Player>(taps).fill(player)),
    seededRandom(seed),
  );
  const latencies = new Float64Array(order.length);
  const oddities: string[] = [];
  const startedAt = performance.now();
  let done = 0;
  await eachParallel(order.length, concurrency, async (index) => {
    const player = order[index] as Player;
    const { result, tookMs } = await app.grab(activityId, player.token);
    latencies[done] = tookMs;
    done += 1;
    player.taps += 1;
    if (result.status === 'not-open') oddities.push(`user ${player.userId} got the status "not-open"`);
    if ('packet' in result) notePacket(player, result.packet, oddities);
    onStep('taps', done, order.length);
  });
  return { players, latenciesMs: latencies.sort(), tookMs: performance.now() - startedAt, oddities };
}

function notePacket(player: Player, packet: Packet, oddities: string[]): void {
  const first = player.packet;
  player.packet ??= packet;
  if (first === undefined) return;
  const same =
    first.packetId === packet.packetId &&
    first.amountCents === packet.amountCents &&
    first.grantedAtMs === packet.grantedAtMs;
  if (!same)
    oddities.push(`user ${player.userId} got two packets: ${JSON.stringify(first)} and ${JSON.stringify(packet)}`);
}

/** Runs `work` for 0 to count - 1, `width` at a time. After a failure, starts no more work and rejects. */
async function eachParallel(count: number, width: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    try {
      while (next < count && !failed) await work(next++);
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
}
