import * as timers from 'node:timers';

// Read now, because fake timers of a test may replace them later.
const { setImmediate: immediately, setTimeout: setRealTimeout } = timers;
const resources = process.getActiveResourcesInfo.bind(process);

/** Number of turns of the event loop without an immediate after which the process has settled. */
const QUIET_TURNS = 2;
/** Maximum number of turns of the event loop to wait. */
const MOST_TURNS = 100_000;

/** Calls of `settled` that have not ended. Each has an immediate, which the others must not wait for. */
let settling = 0;

/**
 * Waits until this process has nothing left to do that needs no timer, socket or file. A command of the in-memory server is an
 * immediate, and so is each step of the libs that waits for the end of a turn of the event loop.
 *
 * @throws Error if there is always more to do
 */
export async function settled(): Promise<void> {
  settling += 1;
  try {
    for (let turn = 0, quiet = 0; quiet < QUIET_TURNS; turn++) {
      if (turn === MOST_TURNS) {
        throw new Error(
          `TestClock: after ${MOST_TURNS} turns of the event loop there was still more to do. Code that runs may call itself ` +
            'again and again without a pause.',
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

/** Waits until a condition is true, for at most about a second of real time. */
export async function reallyReached(condition: () => boolean): Promise<void> {
  for (let waitedMs = 0; !condition() && waitedMs < 1_000; waitedMs += 5) {
    await new Promise<void>((resolve) => void setRealTimeout(resolve, 5));
  }
}
