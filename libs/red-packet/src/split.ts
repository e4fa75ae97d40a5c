import type { SplitMethod } from './red-packet.types';

/** Parameters of a split. The caller has checked that `packets * minCents <= totalCents <= packets * maxCents`. */
export interface SplitPlan {
  readonly totalCents: number;
  readonly packets: number;
  readonly minCents: number;
  readonly maxCents: number;
}

/** Function that returns a random integer from 0 to `below - 1`. @throws RangeError unless `below` is an integer from 1 to 2^53 - 1 */
type DrawInteger = (below: number) => number;

const TWO_53 = 2 ** 53;

/**
 * Returns a generator of random integers: sfc32, the small fast counting generator of Chris Doty-Humphrey. The same seed gives the
 * same numbers.
 *
 * @param seed 32 hex digits
 * @see https://pracrand.sourceforge.net/RNG_engines.txt
 */
export function seededDraws(seed: string): DrawInteger {
  let [a = 0, b = 0, c = 0, counter = 0] = [0, 8, 16, 24].map((at) => Number.parseInt(seed.slice(at, at + 8), 16) | 0);
  const next32 = (): number => {
    const mixed = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + mixed;
    c |= 0;
    return mixed >>> 0;
  };
  for (let i = 0; i < 16; i++) next32();
  return (below) => {
    if (!Number.isSafeInteger(below) || below < 1)
      throw new RangeError(
        `red-packet: below is ${below} when the total is split. Expected an integer from 1 to 2^53 - 1. This is a bug in luanest. Please report it.`,
      );
    // 2^53 is usually not a multiple of `below`. Without this limit, `draw % below` would return small values more often.
    const limit = TWO_53 - (TWO_53 % below);
    for (;;) {
      const draw = (next32() >>> 11) * 2 ** 32 + next32();
      if (draw < limit) return draw % below;
    }
  };
}

/**
 * Splits a total by the method of the double mean. The cents of each packet are random, from a lower bound to twice the mean of the
 * cents that are left. Then the packets are shuffled, so that every position is equally lucky.
 *
 * The packets add up to the total exactly, and each is from `minCents` to `maxCents`.
 *
 * @returns cents per packet
 */
export function splitDoubleMean({ totalCents, packets, minCents, maxCents }: SplitPlan, draw: DrawInteger): number[] {
  const amounts: number[] = [];
  let rest = totalCents;
  for (let left = packets; left > 0; left--) {
    const others = left - 1;
    // The other packets need at least `minCents` each and take at most `maxCents`, which limits this packet.
    const low = Math.max(minCents, rest - others * maxCents);
    const high = Math.min(maxCents, rest - others * minCents, Math.max(low, twiceTheMean(rest, left)));
    const amount = others === 0 ? rest : low + draw(high - low + 1);
    amounts.push(amount);
    rest -= amount;
  }
  return shuffle(amounts, draw);
}

/** Returns `2 * total / count`, rounded down, but at most `total`. A division of floats could round up near 2^53. */
function twiceTheMean(total: number, count: number): number {
  const over = total % count;
  return Math.min(total, ((total - over) / count) * 2 + Math.floor((2 * over) / count));
}

/**
 * Splits a total by cutting a line at random points. Each packet is a piece of the line, plus `minCents`. What exceeds `maxCents` is
 * distributed at random among smaller packets. Then the packets are shuffled, because the first and the last one would be smaller on
 * average.
 *
 * The packets add up to the total exactly, and each is from `minCents` to `maxCents`.
 *
 * @returns cents per packet
 */
function splitLineCut({ totalCents, packets, minCents, maxCents }: SplitPlan, draw: DrawInteger): number[] {
  const length = totalCents - packets * minCents;
  const cuts = new Float64Array(packets + 1);
  for (let i = 1; i < packets; i++) cuts[i] = draw(length + 1);
  cuts[packets] = length;
  cuts.sort();
  const room = maxCents - minCents;
  const spare = Array.from({ length: packets }, (_, i) => (cuts[i + 1] as number) - (cuts[i] as number));
  let excess = 0;
  // The sum of the free space of all packets may be more than 2^53, where floats lose cents.
  let space = 0n;
  for (const [i, cents] of spare.entries()) {
    excess += Math.max(0, cents - room);
    space += BigInt(Math.max(0, room - cents));
    spare[i] = Math.min(cents, room);
  }
  for (const i of shuffle(
    spare.map((_, at) => at),
    draw,
  )) {
    if (excess === 0) break;
    const own = room - (spare[i] as number);
    space -= BigInt(own);
    // This packet must take at least the cents for which the packets after it have no room.
    const low = space < BigInt(excess) ? excess - Number(space) : 0;
    const more = low + draw(Math.min(own, excess) - low + 1);
    spare[i] = (spare[i] as number) + more;
    excess -= more;
  }
  return shuffle(
    spare.map((cents) => cents + minCents),
    draw,
  );
}

/**
 * Splits a total into equal packets. If a remainder is left, random packets get one cent more each.
 *
 * @returns cents per packet
 */
function splitEqual({ totalCents, packets }: SplitPlan, draw: DrawInteger): number[] {
  const over = totalCents % packets;
  const each = (totalCents - over) / packets;
  return shuffle(
    Array.from({ length: packets }, (_, i) => (i < over ? each + 1 : each)),
    draw,
  );
}

/**
 * Splits a total by a method. The same method, plan and seed give the same packets.
 *
 * @param given the amounts for the method `given`, which returns them as they are
 * @returns cents per packet, in the order of the packets' numbers
 */
export function splitBy(method: SplitMethod, plan: SplitPlan, seed: string, given: readonly number[] = []): number[] {
  if (method === 'given') return [...given];
  const draw = seededDraws(seed);
  if (method === 'line-cut') return splitLineCut(plan, draw);
  return method === 'equal' ? splitEqual(plan, draw) : splitDoubleMean(plan, draw);
}

/** Shuffles an array in place, so that every order is equally likely. @returns the same array */
function shuffle<T>(items: T[], draw: DrawInteger): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = draw(i + 1);
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
  return items;
}
