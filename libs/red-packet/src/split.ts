import type { SplitMethod } from './red-packet.types';

/** Parameters of a split. */
export interface SplitPlan {
  readonly totalCents: number;
  readonly packets: number;
  readonly minCents: number;
  readonly maxCents: number;
}

/** Draws integers of 0 to `below - 1`, each equally likely. @throws RangeError unless `below` is an integer of 1 to 2^53 - 1 */
type DrawInteger = (below: number) => number;

const TWO_53 = 2 ** 53;

/**
 * A generator that gives the same draws for the same seed: sfc32, Chris Doty-Humphrey's small fast counting generator.
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
      throw new RangeError(`below is ${below}. Expected an integer from 1 to 2^53 - 1.`);
    // Draws above the last whole multiple of `below` would favour small values, so they are drawn again.
    const limit = TWO_53 - (TWO_53 % below);
    for (;;) {
      const draw = (next32() >>> 11) * 2 ** 32 + next32();
      if (draw < limit) return draw % below;
    }
  };
}

/**
 * Splits a total into packets by the double mean method and shuffles them: each packet is drawn from its lower bound
 * to twice the mean of what is left, and the shuffle makes every position equally lucky.
 *
 * The sum is exact and every packet lies between the bounds, given `packets * minCents <= totalCents <= packets * maxCents`.
 *
 * @returns cents per packet
 */
export function splitDoubleMean({ totalCents, packets, minCents, maxCents }: SplitPlan, draw: DrawInteger): number[] {
  const amounts: number[] = [];
  let rest = totalCents;
  for (let left = packets; left > 0; left--) {
    const others = left - 1;
    // The other packets take at most maxCents and need at least minCents each, which bounds this one from both sides.
    const low = Math.max(minCents, rest - others * maxCents);
    const high = Math.min(maxCents, rest - others * minCents, Math.max(low, twiceTheMean(rest, left)));
    const amount = others === 0 ? rest : low + draw(high - low + 1);
    amounts.push(amount);
    rest -= amount;
  }
  return shuffle(amounts, draw);
}

/** `2 * total / count`, rounded down. A division of doubles could round up where the total is near 2^53. */
function twiceTheMean(total: number, count: number): number {
  const over = total % count;
  return Math.min(total, ((total - over) / count) * 2 + Math.floor((2 * over) / count));
}

/**
 * Splits a total by cutting a line at random points, and shuffles the pieces. The largest piece is much larger than that of the
 * double mean. Cents of a packet above the cap are distributed at random among the packets below it.
 *
 * Without the shuffle the first and the last packet would be smaller: cents are whole, so two cuts may be at the same point, or
 * at an end of the line.
 *
 * Sum and bounds hold as in `splitDoubleMean`.
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
  // The room of many packets may be beyond 2^53, where doubles lose cents.
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
    // This packet must take the cents that the others have no room for.
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
 * Splits a total into equal packets. The remainder is given to that many random packets, one cent each.
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
 * Splits a total by a method, the same for the same seed.
 *
 * @param given amounts of the method `given`
 * @returns cents per packet, in the order of the grabs
 */
export function splitBy(method: SplitMethod, plan: SplitPlan, seed: string, given: readonly number[] = []): number[] {
  if (method === 'given') return [...given];
  const draw = seededDraws(seed);
  if (method === 'line-cut') return splitLineCut(plan, draw);
  return method === 'equal' ? splitEqual(plan, draw) : splitDoubleMean(plan, draw);
}

/** Makes every order equally likely. @returns the same array */
function shuffle<T>(items: T[], draw: DrawInteger): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = draw(i + 1);
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
  return items;
}
