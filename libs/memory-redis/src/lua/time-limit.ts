import { position, raise } from './position';

/** Loops and calls between two looks at the time. */
const STEPS = 50_000;

/** Redis replies BUSY to others after this time, and lets the script go on. Here nobody else could stop it. */
export const timeLimit = { ms: 5_000 };

let endsAt = 0;

/** Begins to count the time of a script. */
export function startTimeLimit(): void {
  endsAt = performance.now() + timeLimit.ms;
  position.steps = STEPS;
}

/** Is called when the steps are used up. @throws LuaError if the script has run for too long, at each further loop and call */
export function checkTimeLimit(line: number): void {
  if (performance.now() < endsAt) {
    position.steps = STEPS;
    return;
  }
  position.line = line;
  throw raise(`MemoryRedis has stopped this script, which had run for ${timeLimit.ms / 1_000} s. A loop may never end`);
}
