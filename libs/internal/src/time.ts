import * as timers from 'node:timers';

export interface Timer {
  /** Lets the process end while the timer waits. */
  unref(): unknown;
}

/** Source of the time and of timers for all libs. A test can replace it. See DECISIONS.md: one-source-of-time */
export interface TimeSource {
  /** Returns the time of day, ms since 1970. The time of day may jump back. */
  nowMs(): number;
  /** Returns a time that never goes back (monotonic clock), ms since an arbitrary moment. */
  monotonicMs(): number;
  /**
   * Takes a time that `monotonicMs()` has just returned, and returns the same instant by the clock of `performance.now()`, ms. Deadlines of
   * ScriptRegistry use that clock.
   */
  measuredAt(monotonicMs: number): number;
  /** Calls `callback` once. @param ms time from now, ms; at most `MAX_TIMER_MS` */
  setTimer(callback: () => void, ms: number): Timer;
  /** Calls `callback` every `ms` milliseconds. */
  setRepeatingTimer(callback: () => void, ms: number): Timer;
  /**
   * Calls `callback` once after `ms` milliseconds. For waits that depend on no clock, such as a wait for the end of a handler. The clock of
   * a test can end this timer early, but cannot delay it. Fake timers do not affect it.
   */
  setTimeLimit(callback: () => void, ms: number): Timer;
  /** Ends a timer of `setTimer`, `setRepeatingTimer` or `setTimeLimit`. Does nothing for `undefined`, or if the timer has ended. */
  clearTimer(timer: Timer | undefined): void;
}

// Test frameworks may later replace the global functions by fake timers, so the real ones are saved when this file is loaded.
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = timers;
const RealTimeout = classOfTimers();

// Each method looks up the global function when it is called, so that fake timers of a test take effect. Only time limits use the real
// timers.
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

export const time: TimeSource = { ...realTime };

let replaced = false;

/**
 * Makes the libs use another TimeSource until the returned function is called. Used by the clock of luanest/testing.
 *
 * @throws Error if another TimeSource is in use already
 */
export function replaceTime(source: TimeSource): () => void {
  if (replaced) throw new Error('Another test clock is installed in this process. Uninstall that clock first.');
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

/** Calls back after the I/O of this turn of the event loop. This is Node's real `setImmediate`, saved before fake timers can replace it. */
export const nextTurn: (callback: () => void) => NodeJS.Immediate = timers.setImmediate;

/**
 * Calls `callback` after `ms` milliseconds of real time, even while a test uses fake timers. For code that polls a condition which depends
 * on no clock.
 */
export function setRealTimer(callback: () => void, ms: number): Timer {
  return setRealTimeout(callback, ms);
}

function classOfTimers(): new () => NodeJS.Timeout {
  const timer = setRealTimeout(() => undefined, 0);
  clearRealTimeout(timer);
  return timer.constructor as new () => NodeJS.Timeout;
}

/** Returns `performance.now()`, ms, even if a test has replaced the clock. For durations that are only measured or logged. */
export function measuredMs(): number {
  return performance.now();
}
