import { AsyncResource } from 'node:async_hooks';
import nodeTimers from 'node:timers';
import timerPromises from 'node:timers/promises';

/**
 * Time that passes while the process has nothing to do: then it jumps to the next timer. So a test that waits for a lease takes
 * almost no real time. It replaces the timers, `Date` and `performance` of the whole process, so load it before anything that
 * uses them.
 */
const { setImmediate: immediately } = nodeTimers;
const resources = process.getActiveResourcesInfo.bind(process);
const realNow = performance.now.bind(performance);
const RealDate = Date;
const QUIET_TURNS = 2;
/** Sockets and files answer by real time. So long the process waits for them before it jumps, ms. */
const QUIET_MS = 3;
/** So much time a reading of the clock takes, and so much later than it is due a timer fires, ms. */
const READING_MS = 0.001;
const LATE_MS = 1;
const OUTSIDE = /TCPSocketWrap|TCPServerWrap|FSReq|GetAddrInfo|PipeWrap|ProcessWrap|Zlib/;

interface VirtualTimer {
  readonly callback: (...args: unknown[]) => void;
  dueAt: number;
  readonly everyMs: number | undefined;
  readonly order: number;
  readonly ms: number;
}

class TimerHandle {
  constructor(readonly timer: VirtualTimer) {}
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  refresh(): this {
    this.timer.dueAt = now + this.timer.ms;
    timers.add(this.timer);
    return this;
  }
  close(): this {
    timers.delete(this.timer);
    return this;
  }
  [Symbol.toPrimitive](): number {
    return this.timer.order;
  }
}

const timers = new Set<VirtualTimer>();
let now = Math.ceil(realNow());
const startWall = RealDate.now() - now;
let count = 0;
let ownResources = new Map<string, number>();

export const virtualTime = {
  install,
  /** Milliseconds that have passed by this time. */
  nowMs: (): number => now,
  realMs: realNow,
  /** Drops all timers. */
  clear: (): void => timers.clear(),
  until,
};

function install(): void {
  const start = (
    callback: (...args: unknown[]) => void,
    ms: number,
    args: unknown[],
    repeats: boolean,
  ): TimerHandle => {
    const wait = Math.max(1, Math.trunc(Number(ms)) || 1);
    const timer: VirtualTimer = {
      callback: AsyncResource.bind(() => callback(...args)),
      dueAt: now + wait,
      everyMs: repeats ? wait : undefined,
      order: ++count,
      ms: wait,
    };
    timers.add(timer);
    return new TimerHandle(timer);
  };
  const clear = (handle: unknown): void => {
    if (handle instanceof TimerHandle) timers.delete(handle.timer);
  };
  const fakes = {
    setTimeout: Object.assign(
      (callback: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) => start(callback, ms, args, false),
      { [Symbol.for('nodejs.util.promisify.custom')]: sleep },
    ),
    setInterval: (callback: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
      start(callback, ms, args, true),
    clearTimeout: clear,
    clearInterval: clear,
  };
  Object.assign(globalThis, fakes);
  Object.assign(nodeTimers, fakes);
  Object.assign(timerPromises, { setTimeout: sleep });
  performance.now = reading;
  const VirtualDate = class extends RealDate {
    constructor(...args: ConstructorParameters<typeof RealDate> | []) {
      if (args.length === 0) super(wallNow());
      else super(...args);
    }
    static override now(): number {
      return wallNow();
    }
  };
  globalThis.Date = VirtualDate as DateConstructor;
  ownResources = counted();
}

/** Each reading is a little later than the last one. */
function reading(): number {
  now += READING_MS;
  return now;
}

function wallNow(): number {
  return Math.floor(startWall + reading());
}

function sleep<T>(ms = 1, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError' }));
    if (signal?.aborted) return aborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve(value);
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      aborted();
    };
    signal?.addEventListener('abort', stop);
  });
}

/**
 * Lets time pass until `work` has ended. @throws Error after `limitMs` of this time or `realLimitMs` of real time, or if nothing
 * is left that could end it
 */
async function until<T>(work: Promise<T>, limitMs: number, realLimitMs: number): Promise<T> {
  let ended = false;
  const end = (): void => void (ended = true);
  work.then(end, end);
  const [latest, realLatest] = [now + limitMs, realNow() + realLimitMs];
  for (;;) {
    await quiet(() => ended);
    if (ended) return work;
    const timer = nextTimer();
    if (timer === undefined) throw new Error('the test waits for nothing that could happen');
    if (timer.dueAt > latest || realNow() > realLatest) throw new Error('the test took too long');
    fire(timer);
  }
}

function nextTimer(): VirtualTimer | undefined {
  let next: VirtualTimer | undefined;
  for (const timer of timers) {
    if (next === undefined || timer.dueAt < next.dueAt) next = timer;
  }
  return next;
}

function fire(timer: VirtualTimer): void {
  now = Math.max(now, timer.dueAt + LATE_MS);
  if (timer.everyMs === undefined) timers.delete(timer);
  else timer.dueAt = now + timer.everyMs;
  timer.callback();
}

/** Waits until the process has nothing left to do but for timers. */
async function quiet(ended: () => boolean): Promise<void> {
  let turns = 0;
  let since = realNow();
  while (!ended()) {
    await new Promise<void>((resolve) => void immediately(resolve));
    const active = resources();
    if (active.includes('Immediate')) {
      turns = 0;
      since = realNow();
      continue;
    }
    turns++;
    if (turns < QUIET_TURNS) continue;
    if (!waitsForOutside() || realNow() - since > QUIET_MS) return;
  }
}

function counted(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of resources()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function waitsForOutside(): boolean {
  for (const [name, number] of counted()) {
    if (OUTSIDE.test(name) && number > (ownResources.get(name) ?? 0)) return true;
  }
  return false;
}
