import * as timers from 'node:timers';

/** Timer of a TimeSource. `clearTimer` ends it. */
export interface Timer {
  /** Lets the process end while the timer waits. */
  unref(): unknown;
}

/** Clock and timers that all libs use. A test can replace them. See DECISIONS.md: one-source-of-time */
export interface TimeSource {
  /** Returns the time of day, ms since 1970. It may go back. */
  nowMs(): number;
  /** Returns a time that never goes back (monotonic clock), ms since an arbitrary moment. */
  monotonicMs(): number;
  /**
   * Converts a time of `monotonicMs()` that was just read to a time of `performance.now()`, ms. ScriptRegistry uses the latter for
   * deadlines.
   */
  measuredAt(monotonicMs: number): number;
  /** Calls `callback` once. @param ms time from now, ms; at most `MAX_TIMER_MS` */
  setTimer(callback: () => void, ms: number): Timer;
  /** Calls `callback` every `ms` milliseconds. */
  setRepeatingTimer(callback: () => void, ms: number): Timer;
  /**
   * Does the same as `setTimer`. For code that waits for something that does not depend on a clock, such as the end of a handler. The
   * clock of a test can end this timer early, but cannot delay it. Fake timers of a test do not change it.
   */
  setTimeLimit(callback: () => void, ms: number): Timer;
  /** Ends a timer of `setTimer`, `setRepeatingTimer` or `setTimeLimit`. Does nothing for `undefined`, or if the timer has ended. */
  clearTimer(timer: Timer | undefined): void;
}

// These functions are read here, when the file is loaded, before a test replaces them by fake timers.
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = timers;
const RealTimeout = classOfTimers();

// Each method reads the global function at each call, so that fake timers of a test take effect. Only time limits use the real timers.
const realTime: TimeSource = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  measuredAt: (monotonicMs) => monotonicMs,
  setTimer: (callback, ms) => setTimeout(callback, ms),
  setRepeatingTimer: (callback, ms) => setInterval(callback, ms),
  setTimeLimit: (callback, ms) => setRealTimeout(callback, ms),
  clearTimer: (timer) =>
    timer instanceof RealTimeout ? clearRealTimeout(timer) : clearTimeout(timer as NodeJS.Timeout | undefined),
};

/** Clock and timers of this process. The libs use them for all durations and dates that options or documents mention. */
export const time: TimeSource = { ...realTime };

let replaced = false;

/**
 * Makes the libs use another TimeSource, until the returned function is called. Only the test clock calls this function.
 *
 * @throws Error if another TimeSource is in use already
 */
export function replaceTime(source: TimeSource): () => void {
  if (replaced) throw new Error('The time of this process is replaced already.');
  replaced = true;
  Object.assign(time, {
    nowMs: () => source.nowMs(),
    monotonicMs: () => source.monotonicMs(),
    measuredAt: (monotonicMs) => source.measuredAt(monotonicMs),
    setTimer: (callback, ms) => source.setTimer(callback, ms),
    setRepeatingTimer: (callback, ms) => source.setRepeatingTimer(callback, ms),
    setTimeLimit: (callback, ms) => source.setTimeLimit(callback, ms),
    clearTimer: (timer) => source.clearTimer(timer),
  } satisfies TimeSource);
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    replaced = false;
    Object.assign(time, realTime);
  };
}

/**
 * Function `setImmediate` of Node: calls back after the I/O of this turn of the event loop. It is read before a test replaces it, so fake
 * timers of the test do not stop it.
 */
export const nextTurn: (callback: () => void) => NodeJS.Immediate = timers.setImmediate;

/**
 * Calls `callback` after `ms` of real time, even if a test uses fake timers. For code that repeatedly checks a condition that does not
 * depend on a clock.
 */
export function setRealTimer(callback: () => void, ms: number): Timer {
  return setRealTimeout(callback, ms);
}

function classOfTimers(): new () => NodeJS.Timeout {
  const timer = setRealTimeout(() => undefined, 0);
  clearRealTimeout(timer);
  return timer.constructor as new () => NodeJS.Timeout;
}

/** Returns `performance.now()`, ms, even if a test has replaced the TimeSource. For durations that are only measured or logged. */
export function measuredMs(): number {
  return performance.now();
}
