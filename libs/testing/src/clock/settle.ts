import * as timers from 'node:timers';

// The fake timers of a test may replace these functions later, so the real ones are saved when this file is loaded.
const { setImmediate: immediately, setTimeout: setRealTimeout } = timers;
const resources = process.getActiveResourcesInfo.bind(process);

/** The process counts as settled after this number of turns of the event loop in a row without a pending `setImmediate`. */
const QUIET_TURNS = 2;
/** Maximum number of turns of the event loop to wait. */
const MOST_TURNS = 100_000;

/** Number of running calls of `settled`. Each of these calls has a pending `setImmediate`, for which the other calls must not wait. */
let settling = 0;

/**
 * Waits until this process has nothing to do, except for code that waits for a timer, a socket or a file. It counts pending `setImmediate`
 * callbacks, in which the in-memory Redis runs commands, and by which luanest waits for the end of a turn.
 *
 * @throws Error if the process does not settle within 100,000 turns of the event loop
 */
export async function settled(): Promise<void> {
  settling += 1;
  try {
    for (let turn = 0, quiet = 0; quiet < QUIET_TURNS; turn++) {
      if (turn === MOST_TURNS) {
        throw new Error(
          `TestClock: The app was still busy after ${MOST_TURNS} turns of the event loop, without a timer in between. Look for code ` +
            'that calls itself again and again without a pause.',
        );
      }
      await new Promise<void>((resolve) => void immediately(resolve));
      const immediates = resources().filter((resource) => resource === 'Immediate').length;
      quiet = immediates > settling - 1 ? 0 : quiet + 1;
    }
  } finally {
    settling -= 1;
  }
}

/** Waits until a condition is true, or until about one second of real time is over. */
export async function reallyReached(condition: () => boolean): Promise<void> {
  for (let waitedMs = 0; !condition() && waitedMs < 1_000; waitedMs += 5) {
    await new Promise<void>((resolve) => void setRealTimeout(resolve, 5));
  }
}
