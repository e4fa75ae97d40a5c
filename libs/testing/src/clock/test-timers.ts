import { AsyncResource } from 'node:async_hooks';
import * as timers from 'node:timers';
import type { Timer } from '../../../internal/src';

// The fake timers of a test may replace these functions later, so the real ones are saved when this file is loaded.
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = timers;

/** After a timer, code may run for this number of microtasks in a row before the next timer fires. */
const STEPS = 100;

/** A timer of a TestClock. */
export class TestTimer implements Timer {
  /** True for a job of `@nestjs/schedule`. `TestClock.run` stops at each of its times. */
  isJob = false;
  /** Timer of Node that fires this timer after some real time; undefined if there is none. */
  real: NodeJS.Timeout | undefined;

  constructor(
    readonly callback: () => void,
    /** When the timer is due, by the monotonic time of the clock, ms. */
    public dueAt: number,
    /** Time between two calls of a repeating timer, ms. */
    readonly everyMs: number | undefined,
    /** Number by which timers that are due at the same time are ordered. */
    readonly order: number,
  ) {}

  unref(): this {
    this.real?.unref();
    return this;
  }
}

/** Marks a timer as the timer of a job of `@nestjs/schedule`, and returns the timer. */
export function ofJob(timer: Timer): Timer {
  if (timer instanceof TestTimer) timer.isJob = true;
  return timer;
}

/** The timers of a TestClock. */
export class TestTimers {
  private readonly waiting = new Set<TestTimer>();
  private count = 0;

  get size(): number {
    return this.waiting.size;
  }

  /** When the next timer is due; Infinity if there is none. */
  get nextDueAt(): number {
    let next = Infinity;
    for (const { dueAt } of this.waiting) next = Math.min(next, dueAt);
    return next;
  }

  /** When the next job is due; Infinity if there is none. */
  get nextJobAt(): number {
    let next = Infinity;
    for (const { dueAt, isJob } of this.waiting) if (isJob) next = Math.min(next, dueAt);
    return next;
  }

  add(callback: () => void, dueAt: number, everyMs?: number): TestTimer {
    // A timer of 0.3 ms is due after 1 ms, because times of the clock are integers. Like a timer of Node, it keeps its AsyncLocalStorage
    // context.
    const timer = new TestTimer(AsyncResource.bind(callback), Math.ceil(dueAt), everyMs, this.count++);
    this.waiting.add(timer);
    return timer;
  }

  /** Adds a timer that fires when it is due, or after `realMs` of real time if that is sooner. */
  addLimit(callback: () => void, dueAt: number, realMs: number): TestTimer {
    const timer = this.add(callback, dueAt);
    timer.real = setRealTimeout(() => this.waiting.delete(timer) && callback(), realMs);
    return timer;
  }

  clear(timer: TestTimer): void {
    this.waiting.delete(timer);
    clearRealTimeout(timer.real);
  }

  clearAll(): void {
    for (const timer of this.waiting) this.clear(timer);
  }

  /** Fires the timers that are due, in the order of their due times. A repeating timer fires once. @returns true if a timer was due */
  async fire(now: number): Promise<boolean> {
    const due = [...this.waiting].filter(({ dueAt }) => dueAt <= now);
    due.sort((one, other) => one.dueAt - other.dueAt || one.order - other.order);
    for (const timer of due) {
      // The function of an earlier timer may have cleared this timer.
      if (!this.waiting.has(timer)) continue;
      if (timer.everyMs === undefined) this.clear(timer);
      else timer.dueAt = Math.ceil(now + Math.max(1, timer.everyMs));
      timer.callback();
      await resolvedCode();
    }
    return due.length > 0;
  }
}

/**
 * Lets code that waited for a timer's promise continue before the next timer fires, as in Node. `process.nextTick` cannot be used, because
 * fake timers replace it; nor can `setImmediate`, because the in-memory Redis would reply meanwhile.
 */
async function resolvedCode(): Promise<void> {
  for (let step = 0; step < STEPS; step++) await Promise.resolve();
}
