import type { Hit, Plan } from './engine/plan';
import { World, type Lib, type RanScript } from './engine/world';
import { latesOf, smallPlan } from './systematic';

const MOST_OPERATIONS = 5;

/** Result of a search through orders. */
export interface Explored {
  readonly runs: number;
  readonly steps: number;
  /** Runs in which Redis ran the scripts of some key in another order than in all runs before. */
  readonly orders: number;
  /** How many late messages all runs have had that differ: 2 if all orders with at most two of them were tried. */
  readonly complete: number;
  readonly violation: { readonly plan: Plan; readonly text: string } | undefined;
}

/**
 * Runs a small plan again and again, with at most `most` messages that come late: each time, the request or the reply of a script comes
 * just after Redis has run a script of another process that has a key in common with it. The order of two scripts without a common key
 * changes nothing, so it is not tried. Neither are further delays in a run whose scripts ran in an order that was there before.
 *
 * @param runs most runs
 */
export function exploreOrders(lib: Lib, seed: number, most: number, runs: number): Explored {
  const small = smallPlan(lib, seed, MOST_OPERATIONS);
  const seen = new Set<string>();
  let steps = 0;
  let depth: readonly (readonly Hit[])[] = [[]];
  let done = 0;
  for (let lates = 0; lates <= most; lates++) {
    const next: (readonly Hit[])[] = [];
    for (const hits of depth) {
      if (done === runs) return { runs: done, steps, orders: seen.size, complete: lates - 1, violation: undefined };
      done++;
      const plan = { ...small, elements: [...small.elements, ...hits] };
      const world = new World(lib, plan);
      const result = world.run();
      steps += result.steps;
      if (result.violation !== undefined) {
        const violation = { plan, text: result.violation };
        return { runs: done, steps, orders: seen.size, complete: lates - 1, violation };
      }
      const order = orderOf(world.ran);
      if (seen.has(order)) continue;
      seen.add(order);
      if (lates < most)
        next.push(...latesOf(world.ran, plan.client.deadlineMs / 2, hits.at(-1)).map((hit) => [...hits, hit]));
    }
    depth = next;
  }
  return { runs: done, steps, orders: seen.size, complete: most, violation: undefined };
}

/** Returns the order of the scripts of each key, as a text. */
function orderOf(ran: readonly RanScript[]): string {
  const orders = new Map<string, string>();
  for (const { p, name, keys } of ran) {
    for (const key of keys) orders.set(key, `${orders.get(key) ?? ''} ${p}${name}`);
  }
  return [...orders]
    .map((entry) => entry.join())
    .sort()
    .join('\n');
}
