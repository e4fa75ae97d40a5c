import type { Checks, KnownOptions } from './checks';

// Nest shuts modules down one after the other, in an order that depends on their imports. luanest needs another order, which this file
// ensures:
// 1. `onModuleDestroy`, which Nest calls first, in all modules: workers take no more work, and all begin to drain: they wait until their
// running work ends.
// 2. `beforeApplicationShutdown`: waits until all workers have drained. Handlers that still run can still acquire locks and claims.
// 3. Nest closes the HTTP server, and waits for its requests. These requests can also acquire locks.
// 4. `onApplicationShutdown`: ScriptRegistry releases the locks that are still held, and then closes.

/** Options of a module that runs code of the app, such as handlers, and waits for it at the shutdown. */
export interface ShutdownOptions {
  /**
   * Longest time that shutdown waits for running work, ms; integer from 0 to 2^31 - 1. After that, the AbortSignals of the work fire.
   * Default 10,000.
   */
  readonly drainMs?: number;
  /**
   * Longest time that shutdown waits for the work after its AbortSignals have fired, ms; integer from 0 to 2^31 - 1. After that it
   * releases the locks of the work, and hands its tasks and messages back. This is also the time that a handler of tasks or messages has
   * to end after its `timeoutMs`. Default 500.
   */
  readonly abortGraceMs?: number;
}

export type ResolvedShutdown = Readonly<Required<ShutdownOptions>>;

export const KNOWN_SHUTDOWN: KnownOptions<ShutdownOptions> = { drainMs: true, abortGraceMs: true };

/** Checks the options and fills in the defaults. @throws the error that `checks` makes */
export function resolveShutdown({ drainMs, abortGraceMs }: ShutdownOptions, checks: Checks): ResolvedShutdown {
  return {
    drainMs: checks.integer('drainMs', drainMs ?? 10_000, 0),
    abortGraceMs: checks.integer('abortGraceMs', abortGraceMs ?? 500, 0),
  };
}

/**
 * Drains that have not ended, of all apps of the process. They are not separated by ScriptRegistry, because work of one ScriptRegistry
 * may need locks of another one.
 */
const drains = new Set<Promise<unknown>>();

/** Functions to call at the end of the shutdown, such as one that releases locks, by the ScriptRegistry that they need. */
const ends = new WeakMap<object, (() => Promise<unknown>)[]>();

/**
 * Registers the drain of a worker: a promise that resolves when its running work has ended. Returns the promise. Until then, locks and
 * claims can be acquired.
 */
export function draining(drain: Promise<void>): Promise<void> {
  drains.add(drain);
  const ended = (): void => void drains.delete(drain);
  // An error of the drain is ignored here, because the caller handles it.
  drain.then(ended, ended);
  return drain;
}

/** Resolves when all drains that have begun so far have ended. Never rejects. */
export async function drained(): Promise<void> {
  await Promise.allSettled(drains);
}

/**
 * Registers a function to call at the end of the shutdown, such as one that releases locks. No work runs any more at this time, but the
 * ScriptRegistry still works.
 */
export function atLast(registry: object, end: () => Promise<unknown>): void {
  const all = ends.get(registry);
  if (all === undefined) ends.set(registry, [end]);
  else all.push(end);
}

/** Calls all functions that `atLast` has registered for this ScriptRegistry, and waits for them. Never rejects. */
export async function endLast(registry: object): Promise<void> {
  const all = ends.get(registry) ?? [];
  ends.delete(registry);
  await Promise.allSettled(all.map((end) => end()));
}
