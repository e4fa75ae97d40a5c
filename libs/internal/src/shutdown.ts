import type { Checks, KnownOptions } from './checks';

// At a shutdown, Nest calls the hooks of the modules in the order of their imports. luanest needs another order, in which locks are
// released last. This file ensures it:
// 1. `onModuleDestroy` of all modules: workers fetch no more tasks, and wait for their running handlers.
// 2. `beforeApplicationShutdown`: waits for all workers. Handlers that still run can acquire locks.
// 3. Nest closes the HTTP server, and waits for its requests. They can also acquire locks.
// 4. `onApplicationShutdown`: ScriptRegistry releases the locks that are still held, and then closes.

/** Options of a module that runs code of the app, such as handlers, and waits for it at the shutdown. */
export interface ShutdownOptions {
  /**
   * Longest time that shutdown waits for running work, ms; integer from 0 to 2^31 - 1. After that, the AbortSignals of the work fire.
   * Default 10,000.
   */
  readonly drainMs?: number;
  /**
   * Longest time that shutdown waits for the work after its AbortSignals have fired, ms; integer from 0 to 2^31 - 1. After that, shutdown
   * releases the locks of the work, and hands its tasks and messages back. This is also the time that a handler of tasks or messages has
   * to end after its `timeoutMs`. Default 500.
   */
  readonly abortGraceMs?: number;
}

export type ResolvedShutdown = Readonly<Required<ShutdownOptions>>;

export const KNOWN_SHUTDOWN: KnownOptions<ShutdownOptions> = { drainMs: true, abortGraceMs: true };

/** Checks the options and fills in the defaults. @throws the error that `checks` creates */
export function resolveShutdown({ drainMs, abortGraceMs }: ShutdownOptions, checks: Checks): ResolvedShutdown {
  return {
    drainMs: checks.integer('drainMs', drainMs ?? 10_000, 0),
    abortGraceMs: checks.integer('abortGraceMs', abortGraceMs ?? 500, 0),
  };
}

/**
 * Promises of workers that wait for their running handlers during a shutdown. All apps of the process share them, because the handlers of
 * one app may hold locks in the Redis of another app.
 */
const drains = new Set<Promise<unknown>>();

/** Functions to call at the end of a shutdown, such as one that releases locks, by the ScriptRegistry that they use. */
const ends = new WeakMap<object, (() => Promise<unknown>)[]>();

/**
 * Makes each shutdown wait for a promise before it releases locks. The promise resolves when the running handlers of a worker have ended.
 *
 * @returns the same promise
 */
export function draining(drain: Promise<void>): Promise<void> {
  drains.add(drain);
  const ended = (): void => void drains.delete(drain);
  // The caller handles an error of this promise.
  drain.then(ended, ended);
  return drain;
}

/** Resolves when all promises that `draining` got so far have ended. Never rejects. */
export async function drained(): Promise<void> {
  await Promise.allSettled(drains);
}

/**
 * Registers a function to call at the end of a shutdown, such as one that releases locks. At that time, all handlers have ended, and the
 * ScriptRegistry still works.
 */
export function atLast(registry: object, end: () => Promise<unknown>): void {
  const all = ends.get(registry);
  if (all === undefined) ends.set(registry, [end]);
  else all.push(end);
}

/** Calls the functions that `atLast` has registered for this ScriptRegistry, and waits for them. Never rejects. */
export async function endLast(registry: object): Promise<void> {
  const all = ends.get(registry) ?? [];
  ends.delete(registry);
  await Promise.allSettled(all.map((end) => end()));
}
