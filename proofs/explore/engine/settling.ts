import { nextDeadline, takeStep } from './environment';
import type { Actors, Protocol } from './protocol';
import type { World } from './world';

/** Problem of actors that were left alone. */
export interface Unsettled {
  readonly problem: string;
  /** False: a move on the way found a problem, which a search may find with fewer moves. */
  readonly isStuck: boolean;
}

/** So many steps and waits must be enough for all to settle. */
const MOST_ROUNDS = 400;

/**
 * Leaves the actors alone: late calls arrive, the actors go on one after the other, time passes, and no fault happens.
 *
 * @returns what has not settled after that, or went wrong; undefined if all has settled, or the protocol promises nothing
 */
export function whyUnsettled<State extends Actors>(
  protocol: Protocol<State>,
  state: State,
  world: World,
): Unsettled | undefined {
  if (protocol.unsettled === undefined) return undefined;
  state.budgets = {};
  for (const { call } of state.late.splice(0)) {
    try {
      world.call(call);
    } catch {
      // Nobody waits for this reply.
    }
    protocol.observe?.(state, world);
  }
  let last: string | undefined;
  const taken: string[] = [];
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const steps = protocol.steps(state, world);
    const step = steps[round % steps.length];
    if (step !== undefined) {
      taken.push(`${step.actor}: ${step.name}`);
      takeStep(step, state, world);
      protocol.observe?.(state, world);
      if (state.wrong !== undefined)
        return { problem: `${state.wrong} Left alone: ${taken.join('; ')}.`, isStuck: false };
    }
    if (steps.length > 0 && round % 8 !== 7) continue;
    last = protocol.unsettled(state, world);
    if (last === undefined) return undefined;
    const at = nextDeadline(protocol, state, world);
    if (at !== undefined) {
      taken.push(`${at - world.nowMs} ms pass`);
      world.clock.set(at);
      protocol.observe?.(state, world);
    } else if (steps.length === 0) break;
  }
  if (last === undefined) return undefined;
  const problem = `Left alone, not everything settles: ${last} Last steps: ${taken.slice(-12).join('; ')}.`;
  return { problem, isStuck: true };
}
