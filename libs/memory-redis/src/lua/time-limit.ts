import { position, raise } from './position';

/** Number of loop rounds and calls after which the time is checked. */
const STEPS = 50_000;

/**
 * Maximum run time of a script, ms. A Redis server lets a longer script continue, and replies BUSY to other clients. In this process
 * nothing else could run, so the script gets an error.
 */
export const timeLimit = { ms: 5_000 };

let endsAt = 0;

/** Starts the time limit of a script. */
export function startTimeLimit(): void {
  endsAt = performance.now() + timeLimit.ms;
  position.steps = STEPS;
}

/**
 * Checks the run time of a script.
 *
 * @throws LuaError if the script has run for too long, and then again at each loop round and call
 */
export function checkTimeLimit(line: number): void {
  if (performance.now() < endsAt) {
    position.steps = STEPS;
    return;
  }
  position.line = line;
  throw raise(
    `MemoryRedis has stopped this script, which had run for ${timeLimit.ms / 1_000} s. Look for a loop that never ends`,
  );
}
