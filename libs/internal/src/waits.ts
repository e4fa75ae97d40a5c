import { setRealTimer, time } from './time';

/** Longest pause between two checks of a condition, ms. */
const LONGEST_PAUSE_MS = 5;

/** Options of `pause`. */
export interface PauseOptions {
  /** Signal that ends the pause early. */
  readonly signal?: AbortSignal;
  /** True: the pause keeps the process alive. False: the process may end during the pause. Default true. */
  readonly ref?: boolean;
}

/** Waits for `ms` milliseconds. Never rejects. */
export function pause(ms: number, { signal, ref = true }: PauseOptions = {}): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      time.clearTimer(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = time.setTimeLimit(end, ms);
    if (!ref) timer.unref();
    signal?.addEventListener('abort', end);
  });
}

/**
 * Waits until the promise `work` has ended, at most `ms` milliseconds. Returns true if it was resolved or rejected in time. Never rejects.
 */
export function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = time.setTimeLimit(() => resolve(false), ms);
    const ended = (): void => {
      time.clearTimer(timer);
      resolve(true);
    };
    work.then(ended, ended);
  });
}

/** Waits until `condition` returns true, at most `ms` milliseconds. Returns the last result of `condition`, which must not throw. */
export function reachedWithin(ms: number, condition: () => boolean): Promise<boolean> {
  if (condition() || ms <= 0) return Promise.resolve(condition());
  return new Promise((resolve) => {
    const end = (): void => {
      time.clearTimer(next);
      time.clearTimer(limit);
      resolve(condition());
    };
    let pauseMs = 1;
    const check = (): void => {
      if (condition()) return end();
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      next = setRealTimer(check, pauseMs);
    };
    let next = setRealTimer(check, pauseMs);
    const limit = time.setTimeLimit(end, ms);
  });
}
