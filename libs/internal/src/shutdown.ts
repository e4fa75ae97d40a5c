import type { Checks, KnownOptions } from './checks';

// Nest ends modules one after the other, in an order that their imports decide. So the order of a shutdown is kept here:
// 1. `onModuleDestroy`, which Nest calls in all modules first: workers take no more work, and begin to drain side by side.
// 2. `beforeApplicationShutdown`: all drains end. Locks and claims can still be taken, by the handlers that run.
// 3. Nest closes the HTTP server, and waits for its requests. They can take locks, too.
// 4. `onApplicationShutdown`: the registry ends what is left of the locks, and then itself.

/** Options of a module that runs users' code until the shutdown. */
export interface ShutdownOptions {
  /** Longest time that shutdown waits for running work, ms; integer from 0 to 2^31 - 1. Then the work's signals fire. Default 10,000. */
  readonly drainMs?: number;
  /**
   * Longest time that shutdown waits for the work after its signals have fired, ms; integer from 0 to 2^31 - 1. After that it
   * releases the locks of the work, and hands its tasks and messages back. A handler of tasks or messages has the same time to end
   * after its `timeoutMs`. Default 500.
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

/** Drains that have not ended, of all apps of the process: work of one ScriptRegistry may need locks of another one. */
const drains = new Set<Promise<unknown>>();

/** Functions that end something, such as locks, when nothing can use it any more; by the ScriptRegistry that they need. */
const ends = new WeakMap<object, (() => Promise<unknown>)[]>();

/** Notes the drain of a worker, and returns it. Locks and claims can be taken until the drain has ended. */
export function draining(drain: Promise<void>): Promise<void> {
  drains.add(drain);
  const ended = (): void => void drains.delete(drain);
  // The caller that awaits the drain handles its error.
  drain.then(ended, ended);
  return drain;
}

/** Resolves when all drains have ended that have begun so far. Never rejects. */
export async function drained(): Promise<void> {
  await Promise.allSettled(drains);
}

/** Notes a function to call at the end of the shutdown, when nothing can use what it ends. The ScriptRegistry still works then. */
export function atLast(registry: object, end: () => Promise<unknown>): void {
  const all = ends.get(registry);
  if (all === undefined) ends.set(registry, [end]);
  else all.push(end);
}

/** Calls all functions that were noted by `atLast`, and waits for them. Never rejects. */
export async function endLast(registry: object): Promise<void> {
  const all = ends.get(registry) ?? [];
  ends.delete(registry);
  await Promise.allSettled(all.map((end) => end()));
}
