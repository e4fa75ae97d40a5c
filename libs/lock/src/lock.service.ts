import { AsyncLocalStorage } from 'node:async_hooks';
import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { type ScriptRegistry, InvalidInputError } from 'luanest/script-registry';
import { CONSOLE, shown, endsWithin, measuredMs, time } from '../../internal/src';
import type { LockConsole } from './lock.console';
import { LockBusyError } from './lock.errors';
import { events, type LockEvents } from './lock.events';
import {
  resolveAcquire,
  resolveOptions,
  type LockOptions,
  type ResolvedLockModuleOptions,
  type ResolvedLockOptions,
} from './lock.options';
import { forceUnlock, lookAtLock, readStatus } from './lock.scripts';
import { Shutdown } from './lock.shutdown';
import type { Lock, LockStatus } from './lock.types';
import { Acquirer, nodeOf } from './locks/acquirer';
import { HeldLock, lostDuringWork, releaseAndReport, type LockLease } from './locks/held-lock';

type Names = string | readonly string[];

class Busy {
  /** @param lost true if the name was lost again before all names were acquired */
  constructor(
    readonly name: string,
    readonly lost = false,
  ) {}
}

/** Acquires and releases locks by name. A name has at most one holder at a time, among all processes with the same key prefix. */
export class LockService implements OnModuleDestroy, BeforeApplicationShutdown {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'LockService';

  /** Locks of the `withLock` calls that the current code runs in. */
  private readonly context = new AsyncLocalStorage<readonly Lock[]>();
  private readonly acquirer: Acquirer;
  private readonly shutdown: Shutdown;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedLockModuleOptions = resolveOptions({}),
  ) {
    this.acquirer = new Acquirer(registry, options);
    this.shutdown = new Shutdown(this.acquirer, options, registry);
  }

  /**
   * Acquires a lock on one name, or on several names in sorted order: all of them or none.
   *
   * @throws LockBusyError if a name was not acquired within `waitMs`, or was lost before all names were acquired
   * @throws the reason of the option `signal` if that signal is aborted before the lock is acquired
   * @throws InvalidInputError for an invalid name, and for a name that a surrounding `withLock` holds; InvalidOptionError for an invalid
   *   option. In these cases, nothing was sent to Redis
   * @throws NotReplicatedError, ClosedError, the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * const lock = await locks.acquire(['account:1', 'account:2'], { waitMs: 2_000 });
   * try {
   *   await save({ fence: lock.fence });
   * } finally {
   *   await lock.release();
   * }
   * ```
   */
  async acquire(names: Names, options: LockOptions = {}): Promise<Lock> {
    const resolved = resolveAcquire(options, this.options);
    return orThrow(await this.acquireAndReport(names, resolved), names, resolved);
  }

  /**
   * Tries to acquire a lock, without waiting. Returns undefined where `acquire` throws LockBusyError.
   *
   * @throws the other errors of `acquire`
   */
  async tryAcquire(names: Names, options: Omit<LockOptions, 'waitMs' | 'onBusy'> = {}): Promise<Lock | undefined> {
    return orSkip(await this.acquireAndReport(names, resolveAcquire({ ...options, onBusy: 'skip' }, this.options)));
  }

  /**
   * Runs `work` under a lock, and releases the lock when `work` has ended.
   *
   * @returns the result of `work`; undefined if `onBusy` is `skip` and the lock was not acquired
   * @throws the error of `work`; the errors of `acquire`; InvalidInputError if `work` is not a function
   * @throws LostError if `work` succeeded, but the lock was lost before its release; or if a shutdown no longer waits for `work`
   *
   * @example
   * ```ts
   * const sent = await locks.withLock('report', { onBusy: 'skip' }, async ({ signal }) => {
   *   await sendReport(signal);
   *   return true;
   * }); // undefined if another process holds the lock
   * ```
   */
  withLock<T>(
    names: Names,
    options: LockOptions & { readonly onBusy: 'skip' },
    work: (lock: Lock) => Promise<T> | T,
  ): Promise<T | undefined>;
  withLock<T>(names: Names, options: LockOptions, work: (lock: Lock) => Promise<T> | T): Promise<T>;
  async withLock<T>(names: Names, options: LockOptions, work: (lock: Lock) => Promise<T> | T): Promise<T | undefined> {
    const resolved = resolveAcquire(options, this.options);
    if (typeof work !== 'function')
      throw new InvalidInputError(`LockService.withLock: work is ${shown(work)}. Expected a function.`);
    const result = await this.acquireAndReport(names, resolved);
    const lock = resolved.onBusy === 'skip' ? orSkip(result) : orThrow(result, names, resolved);
    return lock && this.shutdown.track(lock, () => this.runUnder(lock, work));
  }

  /**
   * Returns who holds a lock, since when, until when, and its last fencing token.
   *
   * @throws InvalidInputError for an invalid name; the errors of ScriptRegistry.run()
   */
  async status(name: string): Promise<LockStatus> {
    const keys = { lock: this.acquirer.keyOf(name) };
    const { held, fence, leaseEndsAtMs, owner } = await this.registry.run(readStatus, { keys, args: {} });
    if (!held) return { held: false, fence };
    // A fencing token is Redis' time of the acquisition in microseconds, unless the last token + 1 is higher.
    return { held: true, node: nodeOf(owner), acquiredAtMs: Math.floor(fence / 1_000), leaseEndsAtMs, fence };
  }

  /**
   * Takes a lock from its holder, and raises its fencing token. The holder's AbortSignal is aborted: at once if this LockService acquired
   * the lock; in another process at the next renewal, or at the end of a lease that is not renewed.
   *
   * @returns `forced`: true if the lock was held; `fence`: the new fencing token
   * @throws InvalidInputError for an invalid name; the errors of ScriptRegistry.run(). After UnknownOutcomeError, a second call may take
   *   the lock from a new holder
   */
  async forceUnlock(name: string): Promise<{ readonly forced: boolean; readonly fence: number }> {
    const keys = { lock: this.acquirer.keyOf(name) };
    const args = { retentionMs: this.options.fenceRetentionMs, expected: 0 };
    const { forced, fence } = await this.registry.run(forceUnlock, { keys, args });
    this.loseBefore(name, fence);
    return { forced, fence };
  }

  /** Returns functions for `luanest/console`. */
  [CONSOLE](): LockConsole {
    const { registry, acquirer, options } = this;
    return {
      registry,
      held: () => acquirer.leases.all.length,
      look: async (name) => {
        const { owner, fence, ...found } = await registry.run(lookAtLock, { keys: acquirer.keysOf(name), args: {} });
        return { ...found, fence, node: nodeOf(owner), acquiredAtMs: Math.floor(fence / 1_000) };
      },
      release: async (name, expected) => {
        const args = { retentionMs: options.fenceRetentionMs, expected };
        const keys = { lock: acquirer.keyOf(name) };
        const { forced, fence, resent } = await registry.run(forceUnlock, { keys, args });
        if (forced) this.loseBefore(name, fence);
        return forced ? 'released' : resent ? 'unknown' : 'changed';
      },
    };
  }

  /** Starts the period `drainMs` of the shutdown. */
  onModuleDestroy(): void {
    this.shutdown.begin();
  }

  /**
   * Waits up to `drainMs` until the held locks are released, and for the handlers of all workers and consumers, which may need locks. Then
   * aborts the AbortSignals of the locks that are still held, waits up to `abortGraceMs`, and releases them.
   *
   * Acquiring a lock fails with ClosedError once `drainMs` is over and all handlers have ended, or once the HTTP server has closed,
   * whichever is first.
   */
  beforeApplicationShutdown(): Promise<void> {
    return this.shutdown.drain();
  }

  private loseBefore(name: string, fence: number): void {
    for (const lease of [...this.acquirer.leases.all]) {
      if (lease.name === name && lease.fence < fence) lease.loseBecause('a call of forceUnlock() ended it');
    }
  }

  private async runUnder<T>(lock: Lock, work: (lock: Lock) => Promise<T> | T): Promise<T> {
    let result: T;
    try {
      result = await this.context.run([...(this.context.getStore() ?? []), lock], async () => work(lock));
    } catch (error) {
      await releaseAndReport(lock);
      throw error;
    }
    if ((await releaseAndReport(lock)) === 'lost') throw lostDuringWork(lock);
    return result;
  }

  private acquireAndReport(names: Names, options: ResolvedLockOptions): Promise<Lock | Busy> {
    if (!events.acquisitionEnded.hasSubscribers) return this.acquireNames(names, options);
    const startedAt = measuredMs();
    const ended = (status: LockEvents['acquisitionEnded']['status']): void => {
      const durationMs = measuredMs() - startedAt;
      events.acquisitionEnded.publish(() => ({ names: [names].flat(), status, durationMs }), this.registry);
    };
    return this.acquireNames(names, options).then(
      (result) => {
        ended(result instanceof Busy ? 'busy' : 'acquired');
        return result;
      },
      (error: unknown) => {
        ended('failed');
        throw error;
      },
    );
  }

  private async acquireNames(names: Names, options: ResolvedLockOptions): Promise<Lock | Busy> {
    if (typeof names === 'string') {
      this.refuseReentry(names);
      const lease = await this.acquirer.acquire(names, options);
      return lease ? new HeldLock([lease]) : new Busy(names);
    }
    if (!Array.isArray(names)) {
      throw new InvalidInputError(
        `LockService: The name of the lock is ${shown(names)}. Expected a string or an array of strings.`,
      );
    }
    const sorted = [...new Set(names as readonly string[])].sort();
    if (sorted.length === 0)
      throw new InvalidInputError('LockService: The list of lock names is empty. Expected at least one name.');
    for (const name of sorted) {
      // An invalid name must be refused before the first name is acquired.
      this.acquirer.keyOf(name);
      this.refuseReentry(name);
    }
    return this.acquireAll(sorted, options);
  }

  private async acquireAll(names: readonly string[], options: ResolvedLockOptions): Promise<Lock | Busy> {
    const until = time.monotonicMs() + options.waitMs;
    const leases: LockLease[] = [];
    const releaseAll = (): Promise<unknown> => Promise.allSettled(leases.map((lease) => lease.release()));
    try {
      for (const name of names) {
        const lease = await this.acquirer.acquire(name, options, until);
        if (!lease) {
          await endsWithin(this.options.deadlineMs, releaseAll());
          return new Busy(name);
        }
        leases.push(lease);
      }
    } catch (error) {
      void releaseAll();
      throw error;
    }
    const lost = leases.find(({ held }) => !held);
    if (!lost) return new HeldLock(leases as [LockLease, ...LockLease[]]);
    await endsWithin(this.options.deadlineMs, releaseAll());
    return new Busy(lost.name, true);
  }

  private refuseReentry(name: string): void {
    for (const lock of this.context.getStore() ?? []) {
      if (!lock.held || !lock.names.includes(name)) continue;
      throw new InvalidInputError(
        `Lock ${name} was not acquired: this code runs inside a withLock() call that holds it, and would wait for itself. Use the Lock ` +
          'object that withLock() passes to the work.',
      );
    }
  }
}

/** Returns the lock. @throws LockBusyError if a name was not acquired, or was lost again */
function orThrow(result: Lock | Busy, names: Names, { waitMs, leaseMs }: ResolvedLockOptions): Lock {
  if (!(result instanceof Busy)) return result;
  const wanted = [names].flat();
  const which = wanted.length > 1 ? `Lock ${result.name} (of ${wanted.join(', ')})` : `Lock ${result.name}`;
  throw new LockBusyError(
    result.lost
      ? `${which} was acquired, but lost before all names were acquired, so the work did not run. Its lease (${leaseMs} ms) ended, ` +
          'forceUnlock() ended it, or Redis lost it. Try again, or raise leaseMs.'
      : `${which} was not free within ${waitMs} ms (waitMs), so it was not acquired and the work did not run. Try again later, ` +
          'or raise waitMs. LockService.status() shows if it is held now.',
  );
}

function orSkip(result: Lock | Busy): Lock | undefined {
  return result instanceof Busy ? undefined : result;
}
