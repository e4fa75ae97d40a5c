import type { Element, Plan } from './engine/plan';

/** Longest search: runs, and seconds of CPU. */
const MOST_RUNS = 400;
const LONGEST_S = 15;

/**
 * Returns a plan with as few faults and operations as can be found in which the same violation happens. Chunks are removed, from large
 * to small, as long as that works.
 *
 * @param violationOf runs a plan
 */
export function shrunk(plan: Plan, violation: string, violationOf: (plan: Plan) => string | undefined): Plan {
  const wanted = kindOf(violation);
  let elements = plan.elements;
  let runs = 0;
  const began = process.cpuUsage();
  const isLong = (): boolean => runs >= MOST_RUNS || process.cpuUsage(began).user > LONGEST_S * 1e6;
  const fails = (some: readonly Element[]): boolean => {
    runs++;
    const found = violationOf({ ...plan, elements: some });
    return found !== undefined && kindOf(found) === wanted;
  };
  for (let size = Math.ceil(elements.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < elements.length && !isLong();) {
      const fewer = [...elements.slice(0, at), ...elements.slice(at + size)];
      if (fails(fewer)) elements = fewer;
      else at += size;
    }
  }
  return { ...plan, elements };
}

/** Returns a violation without its numbers and names. */
function kindOf(violation: string): string {
  return violation.replace(/\S*\d\S*/g, '#').split(/[:{]/)[0] as string;
}
