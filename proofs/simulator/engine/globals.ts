import { AsyncLocalStorage } from 'node:async_hooks';
import * as crypto from 'node:crypto';
import * as diagnostics from 'node:diagnostics_channel';
import { Module } from 'node:module';
import * as net from 'node:net';
import * as os from 'node:os';
import type { Random } from './random';

/** The part of a simulated process that Node.js' functions use. */
export interface Host {
  readonly pid: number;
  readonly ppid: number;
  readonly random: Random;
  readonly timers: Set<SimulatedTimer>;
  readonly storages: AsyncLocalStorage<never>[];
  readMonotonicUs(): number;
  readWallMs(): number;
  channel(name: string): SimulatedChannel;
  addTimer(run: () => void, ms: number, repeats: boolean): SimulatedTimer;
  startTimer(timer: SimulatedTimer, ms: number): void;
  addImmediate(run: () => void): object;
  removeImmediate(immediate: { run: () => void } | undefined): void;
  /** Opens a connection to a simulated server. */
  connect(port: number): object;
}

/**
 * Time, timers and randomness of Node.js, which belong to the process of the simulation whose code runs now. Loaded before anything
 * that keeps a reference to one of them. Outside a simulated process they are the real ones.
 */
let current: Host | undefined;

/** Runs all `process.nextTick` and microtasks. Node.js has it for its own loop, and its types leave it out. */
// eslint-disable-next-line @typescript-eslint/unbound-method -- it does not use `this`
const drain = (process as unknown as { _tickCallback(): void })._tickCallback;
if (typeof drain !== 'function')
  throw new Error('This Node.js has no process._tickCallback, which the simulator needs.');

/** Returns the process whose code runs now. */
export const running = (): Host | undefined => current;

/** Errors of promises that nobody has caught. */
const rejections: unknown[] = [];

/** Runs code as a process of the simulation, with everything that its promises do then. @returns what nobody has caught */
export function runAs(process: Host, code: () => void): unknown {
  if (current !== undefined) throw new Error('A simulated process runs already.');
  current = process;
  try {
    code();
    drain();
    if (rejections.length > 0) return rejections.splice(0)[0];
  } catch (error) {
    return error;
  } finally {
    current = undefined;
  }
  return undefined;
}

/** A timer of a simulated process. */
export class SimulatedTimer {
  /** @param dueUs by the monotonic clock of the process @param everyMs undefined: it fires once */
  constructor(
    private readonly owner: Host,
    readonly run: () => void,
    private readonly ms: number,
    readonly everyMs: number | undefined,
    readonly id: number,
  ) {}

  dueUs = 0;
  /** Where it was set, if that is wanted. */
  where: string | undefined;
  hasReference = true;
  /** Of the code that uses the lib. */
  isUsers = false;

  ref(): this {
    this.hasReference = true;
    return this;
  }

  unref(): this {
    this.hasReference = false;
    return this;
  }

  hasRef(): boolean {
    return this.hasReference;
  }

  refresh(): this {
    this.owner.startTimer(this, this.ms);
    return this;
  }

  close(): this {
    this.owner.timers.delete(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.id;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

type Callback = (...args: unknown[]) => void;

/** Makes Node.js use the time, timers and randomness of the running process. Once in a process of the operating system. */
export function installGlobals(): void {
  process.on('unhandledRejection', (error) => {
    if (current === undefined) throw error;
    rejections.push(error);
  });
  const timers = process.getBuiltinModule('timers');
  const timerPromises = process.getBuiltinModule('timers/promises');
  const real = { ...timers };
  const now = performance.now.bind(performance);
  const RealDate = Date;
  const mathRandom = Math.random;

  const start = (callback: Callback, ms: unknown, args: unknown[], repeats: boolean): SimulatedTimer => {
    // As in Node.js: integers of at least 1.
    const wait = Math.trunc(Math.min(2 ** 31 - 1, Math.max(1, Number(ms) || 1)));
    return (current as Host).addTimer(bound(callback, args), wait, repeats);
  };
  const end = (realEnd: (timer: never) => void) => (timer: unknown) =>
    timer instanceof SimulatedTimer ? void timer.close() : realEnd(timer as never);
  const sleep = <T>(ms = 1, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      const abort = (): void => {
        clearTimeout(timer);
        reject(
          Object.assign(new Error('The operation was aborted'), {
            name: 'AbortError',
            cause: signal?.reason as unknown,
          }),
        );
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      }, ms);
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  const turn = <T>(value?: T): Promise<T> => new Promise((resolve) => void setImmediate(() => resolve(value as T)));
  const custom = Symbol.for('nodejs.util.promisify.custom');
  const fakes = {
    setTimeout: Object.assign(
      (callback: Callback, ms?: unknown, ...args: unknown[]) =>
        current ? start(callback, ms, args, false) : real.setTimeout(callback, ms as number, ...args),
      { [custom]: sleep },
    ),
    setInterval: (callback: Callback, ms?: unknown, ...args: unknown[]) =>
      current ? start(callback, ms, args, true) : real.setInterval(callback, ms as number, ...args),
    setImmediate: Object.assign(
      (callback: Callback, ...args: unknown[]) =>
        current ? current.addImmediate(bound(callback, args)) : real.setImmediate(callback, ...args),
      { [custom]: turn },
    ),
    clearTimeout: end(real.clearTimeout),
    clearInterval: end(real.clearInterval),
    clearImmediate: (immediate: never) =>
      current ? current.removeImmediate(immediate) : real.clearImmediate(immediate),
  };
  Object.assign(globalThis, fakes);
  Object.assign(timers, fakes);
  Object.assign(timerPromises, {
    setTimeout: sleep,
    setImmediate: turn,
    setInterval: missing('timers/promises setInterval'),
  });

  performance.now = () => (current ? current.readMonotonicUs() / 1_000 : now());
  globalThis.Date = class extends RealDate {
    constructor(...args: []) {
      if (args.length === 0 && current) super(current.readWallMs());
      else super(...args);
    }
    static override now(): number {
      return current ? current.readWallMs() : RealDate.now();
    }
  } as DateConstructor;
  AbortSignal.timeout = missing('AbortSignal.timeout');

  Math.random = () => (current ? current.random.next() : mathRandom());
  const { randomBytes, randomUUID } = crypto;
  // Nest's ids of modules outlive a run, so they must neither take random numbers of it nor be equal to those of another one.
  const uid = require.resolve('uid');
  require.cache[uid] = Object.assign(new Module(uid), {
    filename: uid,
    loaded: true,
    exports: { uid: () => randomUUID() },
  });
  Object.assign(process.getBuiltinModule('crypto'), {
    randomBytes: (size: number) => (current ? current.random.bytes(size) : randomBytes(size)),
    randomUUID: () => {
      if (!current) return randomUUID();
      const hex = current.random.bytes(16).toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
    randomInt: missing('randomInt'),
    randomFillSync: missing('randomFillSync'),
  });

  const { channel, subscribe, unsubscribe } = diagnostics;
  Object.assign(process.getBuiltinModule('diagnostics_channel'), {
    channel: (name: string) => (current ? current.channel(name) : channel(name)),
    subscribe: (name: string, listener: never) =>
      current ? current.channel(name).subscribe(listener) : subscribe(name, listener),
    unsubscribe: (name: string, listener: never) =>
      current ? current.channel(name).unsubscribe(listener) : unsubscribe(name, listener),
  });

  // One that is in use costs time at each promise, so those of a process end with it.
  Object.assign(process.getBuiltinModule('async_hooks'), {
    AsyncLocalStorage: class<T> extends AsyncLocalStorage<T> {
      constructor() {
        super();
        current?.storages.push(this as never);
      }
    },
  });

  const { createConnection } = net;
  Object.assign(process.getBuiltinModule('net'), {
    createConnection: (options: net.TcpNetConnectOpts) =>
      current ? current.connect(options.port) : createConnection(options),
  });

  const { pid, ppid } = process;
  Object.defineProperty(process, 'pid', { get: () => current?.pid ?? pid, configurable: true });
  Object.defineProperty(process, 'ppid', { get: () => current?.ppid ?? ppid, configurable: true });
  const { hostname } = os;
  Object.assign(process.getBuiltinModule('os'), { hostname: () => (current ? 'host' : hostname()) });
}

/** Returns a callback that keeps the context of the code that set the timer. `AsyncLocalStorage.snapshot` would do the same, slowly. */
function bound(callback: Callback, args: unknown[]): () => void {
  const own = current?.storages.map((storage) => [storage, storage.getStore()] as const) ?? [];
  return own.reduce<() => void>(
    (run, [storage, store]) => (store === undefined ? run : () => storage.run(store, run)),
    args.length === 0 ? callback : () => callback(...args),
  );
}

function missing(name: string): () => never {
  return () => {
    throw new Error(`The simulator has no ${name}.`);
  };
}

/** A channel of `node:diagnostics_channel` of one process. */
export class SimulatedChannel {
  private readonly listeners = new Set<(event: unknown, name: string) => void>();

  constructor(readonly name: string) {}

  get hasSubscribers(): boolean {
    return this.listeners.size > 0;
  }

  subscribe(listener: (event: unknown, name: string) => void): void {
    this.listeners.add(listener);
  }

  unsubscribe(listener: (event: unknown, name: string) => void): boolean {
    return this.listeners.delete(listener);
  }

  /** Removes all listeners. */
  end(): void {
    this.listeners.clear();
  }

  publish(event: unknown): void {
    for (const listener of this.listeners) listener(event, this.name);
  }
}
