/** Returns the next number from 0 to below 1. */
export type Random = () => number;

/** A small generator of random numbers (mulberry32), the same for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns an integer from 0 to below `below`. */
export function below(random: Random, bound: number): number {
  return Math.floor(random() * bound);
}

/** Returns one of the choices. A choice with twice the weight is returned twice as often. */
export function choose<const T>(random: Random, choices: readonly (readonly [weight: number, choice: T])[]): T {
  let left = random() * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, choice] of choices) {
    left -= weight;
    if (left < 0) return choice;
  }
  return (choices.at(-1) as readonly [number, T])[1];
}
