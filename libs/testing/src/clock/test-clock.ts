import * as timers from 'node:timers';
import { replaceTime, time, type Timer, type TimeSource } from '../../../internal/src';
import type { Clock } from '../../../memory-redis/src';
import { reallyReached, settled } from './settle';
import { TestTimer, TestTimers } from './test-timers';

/** Default start of a TestClock, ms since 1970: 2026-01-01T00:00:00Z, a Thursday. */
export const TEST_CLOCK_START_MS = Date.UTC(2026, 0, 1);

// The fake timers of a test may replace this function later, so the real one is saved when this file is loaded.
const { setImmediate: immediately } = timers;
const realMs = performance.now.bind(performance);

/** `run` moves the time in steps of at least this length, ms. A step is shorter only if a scheduled job is due sooner. */
const LEAST_STEP_MS = 60_000;

/** `until` moves the time at most this often. */
const MOST_JUMPS = 10_000;

/** Options of a TestClock. */
export interface TestClockOptions {
  /** Start, ms since 1970. Default: 2026-01-01T00:00:00Z, so that a test has the same dates whenever it runs. */
  readonly nowMs?: number;
}

/**
 * Clock for tests. It moves only when the test moves it. Once it is installed, all modules of luanest in this process use it. Each
 * MemoryRedis that was created with it uses it too. So a test need not wait until a window ends, a lease expires or a task is due.
 *
 * The clock does not change `Date`, `setTimeout` or the time of other code. LuanestTestingModule makes the jobs of `@nestjs/schedule` use
 * the clock. Fake timers of Jest, sinon and node:test do not change the clock, so you can use both.
 */
export class TestClock implements Clock {
  private static current: TestClock | undefined;
  private readonly timers = new TestTimers();
  private wallMs: number;
  // Monotonic time of the clock, ms. Rounded to an integer, because sums of integers are exact.
  private elapsedMs = Math.ceil(realMs());
  private restoreTime: (() => void) | undefined;
  /** Promise of the last call of `advance`, `run`, `set` or `until`. */
  private moving: Promise<void> = Promise.resolve();
  private firing = false;

  /** @throws RangeError if `nowMs` is not an integer from 0 to 2^53 - 1 */
  constructor({ nowMs = TEST_CLOCK_START_MS }: TestClockOptions = {}) {
    this.wallMs = checked('nowMs', nowMs);
  }

  /** The clock that is installed in this process; undefined if there is none. */
  static get installed(): TestClock | undefined {
    return TestClock.current;
  }

  /** Time of this clock, ms since 1970. */
  get nowMs(): number {
    return this.wallMs;
  }

  /** Makes a key of a MemoryRedis end after exactly its TTL. In a Redis server, a key lives up to 1 ms longer. */
  readonly exactTtl = true;

  /** Time of this clock, us since 1970, for a MemoryRedis. */
  nowUs(): number {
    return this.wallMs * 1_000;
  }

  /**
   * Makes the modules of luanest in this process use this clock, until `uninstall`. Call it before you create the app: timers that were set
   * before the call use real time. Does nothing if this clock is installed already.
   *
   * @throws Error if another clock is installed
   */
  install(): this {
    if (TestClock.current === this) return this;
    if (TestClock.current !== undefined) {
      throw new Error(
        'Another TestClock is installed in this process. Call its uninstall() first, or share it: TestClock.installed.',
      );
    }
    const real = { ...time };
    this.restoreTime = replaceTime(this.source(real));
    TestClock.current = this;
    return this;
  }

  /** Makes the modules of luanest use real time again, and drops all timers of this clock. Close the app first. May be called twice. */
  uninstall(): void {
    this.timers.clearAll();
    if (TestClock.current !== this) return;
    this.restoreTime?.();
    TestClock.current = undefined;
  }

  /**
   * Moves the time forward in one jump, as if the process had been paused for `ms`. First waits until the process has settled (see
   * `settle`). Then the time jumps, for Redis and for luanest, and each timer that is due fires once, in order. Returns when the process
   * has settled again and no timer is due.
   *
   * A lease that ends within `ms` is lost, as after a real pause, because no renewal could run. To let renewals run, advance in smaller
   * steps.
   *
   * @param ms integer from 0 to 2^53 - 1
   * @throws RangeError if `ms` is not such a number; the error of a timer or of `settle`
   */
  advance(ms: number): Promise<void> {
    checked('ms', ms);
    return this.move(() => {
      this.jump(ms);
      return this.fireDue();
    });
  }

  /**
   * Moves the time forward step by step, as if the process ran normally for `ms`. The clock jumps from timer to timer, and after each jump
   * the process settles. Jobs of `@nestjs/schedule` run at each of their times. Other timers fire up to a minute late, because workers set
   * many of them. A day takes a few seconds with workers, and almost no time without.
   *
   * A lease of less than a minute that is held during the call may be lost, as in `advance`.
   *
   * @param ms integer from 0 to 2^53 - 1
   * @throws RangeError if `ms` is not such a number; the error of a timer or of `settle`
   */
  run(ms: number): Promise<void> {
    checked('ms', ms);
    return this.move(async () => {
      const endsAt = this.elapsedMs + ms;
      await this.fireDue();
      while (this.elapsedMs < endsAt) {
        const nextAt = Math.max(this.timers.nextDueAt, this.elapsedMs + LEAST_STEP_MS);
        this.jump(Math.max(0, Math.min(nextAt, this.timers.nextJobAt, endsAt) - this.elapsedMs));
        await this.fireDue();
      }
    });
  }

  /**
   * Sets the time. A later time has the effect of `advance`. An earlier time sets back only the time of day, as if the clocks of the
   * machines were set back: keys with a TTL live longer, but timers are due as before.
   *
   * @param atMs ms since 1970, integer from 0 to 2^53 - 1
   * @throws RangeError if `atMs` is not such a number; the error of a timer or of `settle`
   */
  set(atMs: number): Promise<void> {
    checked('atMs', atMs);
    return this.move(() => {
      this.jump(Math.max(0, atMs - this.wallMs));
      this.wallMs = atMs;
      return this.fireDue();
    });
  }

  /**
   * Waits until this process has done all that it can do now: each command to a MemoryRedis has its reply, and no `setImmediate` is left.
   * Does not wait for things from outside, such as the reply to an HTTP request or a real timer.
   *
   * @throws Error if code that runs calls itself again and again without a pause
   */
  settle(): Promise<void> {
    return settled();
  }

  /**
   * Moves the time forward until `work` has ended: each time that the process has settled, the clock jumps to the next timer. For work that
   * waits only for time, such as `clock.until(app.close())` while a lock is held.
   *
   * @returns the result of `work` @throws the error of `work`; Error if for a second no timer is left that could end `work`, or
   *   after 10,000 jumps
   */
  async until<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = (): void => void (ended = true);
    work.then(end, end);
    await this.move(async () => {
      for (let jump = 0; !ended; jump++) {
        await reallyReached(() => ended || this.timers.nextDueAt < Infinity);
        const { nextDueAt } = this.timers;
        if (ended) return;
        if (nextDueAt === Infinity || jump === MOST_JUMPS) throw notEnding(jump);
        this.jump(Math.max(0, nextDueAt - this.elapsedMs));
        await this.fireDue();
      }
    });
    return work;
  }

  private move(how: () => Promise<void>): Promise<void> {
    const moved = this.moving.then(async () => {
      await settled();
      await how();
    });
    this.moving = moved.catch(() => undefined);
    return moved;
  }

  private jump(ms: number): void {
    this.wallMs += ms;
    this.elapsedMs += ms;
  }

  private async fireDue(): Promise<void> {
    do await settled();
    while (await this.timers.fire(this.elapsedMs));
  }

  /** Returns the time source by which luanest uses this clock. @param real source of real time that is replaced */
  private source(real: TimeSource): TimeSource {
    const start = (callback: () => void, ms: number, everyMs?: number): Timer => {
      const timer = this.timers.add(callback, this.elapsedMs + Math.max(0, ms), everyMs);
      if (ms <= 0) this.fireSoon();
      return timer;
    };
    return {
      nowMs: () => this.wallMs,
      monotonicMs: () => this.elapsedMs,
      measuredAt: () => performance.now(),
      setTimer: (callback, ms) => start(callback, ms),
      setRepeatingTimer: (callback, ms) => start(callback, ms, ms),
      setTimeLimit: (callback, ms) => this.timers.addLimit(callback, this.elapsedMs + ms, ms),
      clearTimer: (timer) => {
        if (timer instanceof TestTimer) this.timers.clear(timer);
        else real.clearTimer(timer);
      },
    };
  }

  /** Fires timers that were due already when they were set. */
  private fireSoon(): void {
    if (this.firing) return;
    this.firing = true;
    immediately(() => {
      this.firing = false;
      void this.timers.fire(this.elapsedMs);
    });
  }
}

function notEnding(jumps: number): Error {
  return new Error(
    jumps === MOST_JUMPS
      ? `TestClock.until: The work has not ended after ${MOST_JUMPS} jumps to the next timer. Look for a timer that always sets a new one, or advance the clock by hand.`
      : 'TestClock.until: The work has not ended, and no timer is left that could end it. The work waits for something other than time, such as a socket.',
  );
}

function checked(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`TestClock: ${name} is ${String(value)}. Expected an integer from 0 to 2^53 - 1 ms.`);
}
