import * as timers from 'node:timers';

/** A timer, which `clearTimer` ends. */
export interface Timer {
  /** Lets the process end while the timer waits. */
  unref(): unknown;
}

/** Source of the time of all libs. See DECISIONS.md: one-source-of-time */
export interface TimeSource {
  /** Time of day, ms since 1970. It may go back. */
  nowMs(): number;
  /** Time that never goes back, ms since some moment. */
  monotonicMs(): number;
  /** Returns the `performance.now()` of a time of `monotonicMs()` that was just read. ScriptRegistry counts deadlines by it. */
  measuredAt(monotonicMs: number): number;
  /** Calls back once. @param ms time from now, at most `MAX_TIMER_MS` */
  setTimer(callback: () => void, ms: number): Timer;
  /** Calls back again and again, each time `ms` after the last time. */
  setRepeatingTimer(callback: () => void, ms: number): Timer;
  /**
   * Like `setTimer`, for code that waits for something that no clock controls, such as the end of a handler. A clock of a test
   * can end it early, but not delay it. Fake timers of a test do not change it.
   */
  setTimeLimit(callback: () => void, ms: number): Timer;
  /** Ends a timer of each of these kinds. Does nothing for `undefined`, or if the timer has ended. */
  clearTimer(timer: Timer | undefined): void;
}

// These are read now, before a test replaces them by fake timers.
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = timers;
const RealTimeout = classOfTimers();

// Except for time limits, each call looks up the global functions again, so that fake timers of a test take effect.
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

/** The time of this process. The libs use it for durations and dates that options or documents name. */
export const time: TimeSource = { ...realTime };

let replaced = false;

/**
 * Makes the libs use another source of time, until the returned function is called. Only a clock for tests does that.
 *
 * @throws Error if the time is replaced already
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

/** `setImmediate`, read here before a test replaces it, so that fake timers of the test do not stop it. */
export const nextTurn: (callback: () => void) => NodeJS.Immediate = timers.setImmediate;

/** Calls back after real time, even under fake timers of a test. Used for the next check of a condition that no clock controls. */
export function setRealTimer(callback: () => void, ms: number): Timer {
  return setRealTimeout(callback, ms);
}

function classOfTimers(): new () => NodeJS.Timeout {
  const timer = setRealTimeout(() => undefined, 0);
  clearRealTimeout(timer);
  return timer.constructor as new () => NodeJS.Timeout;
}

/** Returns `performance.now()`, ms, also while the time is replaced: for durations that are only measured or logged. */
export function measuredMs(): number {
  return performance.now();
}
