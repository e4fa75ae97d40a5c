import { AsyncLocalStorage } from 'node:async_hooks';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { type ScriptRegistry, InvalidCallError } from 'luanest/script-registry';
import { shown } from '../../internal/src';
import { Acquirer } from './acquisition/acquirer';
import { holderOf } from './acquisition/owner-tokens';
import { HeldLock, lostBeforeItsEnd, releaseQuietly } from './lease/held-lock';
import { within } from './lease/within';
import type { Lease } from './lease/lease';
import { LockBusyError, ReentrantLockError } from './lock.errors';
import { events, type LockAcquisitionEndedEvent } from './lock.events';
import {
  resolveAcquire,
  resolveOptions,
  type LockOptions,
  type ResolvedLockModuleOptions,
  type ResolvedLockOptions,
} from './lock.options';
import { forceUnlock, readStatus } from './lock.scripts';
import { Shutdown } from './lock.shutdown';
import type { Lock, LockStatus } from './lock.types';

type Names = string | readonly string[];

/** The name that others hold. */
class Busy {
  constructor(readonly name: string) {}
}

/** Locks by name: one holder each, in all processes that use one Redis and prefix. */
export class LockService implements BeforeApplicationShutdown {
  private readonly context = new AsyncLocalStorage<readonly Lock[]>();
  private readonly acquirer: Acquirer;
  private readonly shutdown: Shutdown;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedLockModuleOptions = resolveOptions({}),
  ) {
    this.acquirer = new Acquirer(registry, options);
    this.shutdown = new Shutdown(this.acquirer, options);
  }

  /**
   * Takes a lock, or several: sorted, all or none.
   *
   * @throws LockBusyError when others held one of them for `waitMs`
   * @throws the reason of `signal`, when that fires first
   * @throws ReentrantLockError inside `withLock` of the same name
   * @throws LockNotReplicatedError, LockClosedError, errors of the registry
   */
  async acquire(names: Names, options: LockOptions = {}): Promise<Lock> {
    return this.takeInTime(names, resolveAcquire(options, this.options));
  }

  /** As `acquire`, without waiting. Returns undefined when others hold one of the names, or wait for it. */
  async tryAcquire(names: Names, options: Omit<LockOptions, 'waitMs' | 'onBusy'> = {}): Promise<Lock | undefined> {
    return this.takeIfFree(names, resolveAcquire({ ...options, onBusy: 'skip' }, this.options));
  }

  /**
   * Runs `work` under a lock and gives the lock back, whatever happens.
   *
   * @returns what `work` returned; undefined when `onBusy` is `skip` and others hold it
   * @throws what `work` threw; LockLostError when the lock was lost while `work` ran; else as `acquire`
   */
  withLock<T>(
    names: Names,
    options: LockOptions & { readonly onBusy: 'skip' },
    work: (lock: Lock) => Promise<T> | T,
  ): Promise<T | undefined>;
  withLock<T>(names: Names, options: LockOptions, work: (lock: Lock) => Promise<T> | T): Promise<T>;
  async withLock<T>(names: Names, options: LockOptions, work: (lock: Lock) => Promise<T> | T): Promise<T | undefined> {
    const request = resolveAcquire(options, this.options);
    const lock = await (request.onBusy === 'skip' ? this.takeIfFree(names, request) : this.takeInTime(names, request));
    return lock && this.shutdown.await(lock, () => this.under(lock, work));
  }

  /** Who holds a lock, since when and until when, and its last fence. @throws errors of the registry */
  async status(name: string): Promise<LockStatus> {
    const keys = { lock: this.acquirer.keyOf(name) };
    const { held, fence, leaseEndsAtMs, owner } = await this.registry.run(readStatus, { keys, args: {} });
    if (!held) return { held: false, fence };
    // The fence is Redis' time in microseconds of when the lock was taken.
    return { held: true, holder: holderOf(owner), acquiredAtMs: Math.floor(fence / 1_000), leaseEndsAtMs, fence };
  }

  /**
   * Takes a lock from whoever has it and raises its fence. The old holder's signal fires at its next renewal, at once
   * when it is in this process.
   *
   * @throws errors of the registry
   */
  async forceUnlock(name: string): Promise<{ readonly forced: boolean; readonly fence: number }> {
    const keys = { lock: this.acquirer.keyOf(name) };
    const args = { retentionMs: this.options.fenceRetentionMs };
    const answer = await this.registry.run(forceUnlock, { keys, args });
    for (const lease of this.acquirer.live) {
      if (lease.name === name && lease.fence < answer.fence) lease.lose('it was unlocked by force');
    }
    return answer;
  }

  /**
   * Takes no more locks, and ends all waiting with LockClosedError. Waits up to `drainMs` until the locks that are held
   * are released; then fires their signals, waits up to `abortGraceMs`, and gives up what is left.
   */
  beforeApplicationShutdown(): Promise<void> {
    return this.shutdown.run();
  }

  private async under<T>(lock: Lock, work: (lock: Lock) => Promise<T> | T): Promise<T> {
    let result: T;
    try {
      result = await this.context.run([...(this.context.getStore() ?? []), lock], async () => work(lock));
    } catch (error) {
      await releaseQuietly(lock);
      throw error;
    }
    if ((await releaseQuietly(lock)) === 'lost') throw lostBeforeItsEnd(lock);
    return result;
  }

  private async takeInTime(names: Names, request: ResolvedLockOptions): Promise<Lock> {
    const taken = await this.take(names, request);
    if (!(taken instanceof Busy)) return taken;
    const [wanted, busy] = [[names].flat(), taken.name];
    const which = wanted.length > 1 ? `Lock ${busy} (of ${wanted.join(', ')})` : `Lock ${busy}`;
    throw new LockBusyError(
      `${which} was held by others for all of the ${request.waitMs} ms that this call would wait.`,
    );
  }

  private async takeIfFree(names: Names, request: ResolvedLockOptions): Promise<Lock | undefined> {
    const taken = await this.take(names, request);
    return taken instanceof Busy ? undefined : taken;
  }

  private take(names: Names, request: ResolvedLockOptions): Promise<Lock | Busy> {
    return events.acquisitionEnded.hasSubscribers ? this.takeTold(names, request) : this.takeNow(names, request);
  }

  private async takeTold(names: Names, request: ResolvedLockOptions): Promise<Lock | Busy> {
    const startedAt = performance.now();
    let outcome: LockAcquisitionEndedEvent['outcome'] = 'failed';
    try {
      const taken = await this.takeNow(names, request);
      outcome = taken instanceof Busy ? 'busy' : 'acquired';
      return taken;
    } finally {
      events.acquisitionEnded.publish(() => ({
        names: [names].flat(),
        outcome,
        durationMs: performance.now() - startedAt,
      }));
    }
  }

  private async takeNow(names: Names, request: ResolvedLockOptions): Promise<Lock | Busy> {
    if (typeof names === 'string') {
      this.refuseReentry(names);
      const lease = await this.acquirer.take(names, request);
      return lease ? new HeldLock([lease]) : new Busy(names);
    }
    if (!Array.isArray(names)) {
      throw new InvalidCallError(`The name of the lock is ${shown(names)}. Expected a string, or an array of strings.`);
    }
    const sorted = [...new Set(names as readonly string[])].sort();
    if (sorted.length === 0) throw new InvalidCallError('The list of names is empty. Expected at least one.');
    for (const name of sorted) this.refuseReentry(name);
    return this.takeAll(sorted, request);
  }

  private async takeAll(names: readonly string[], request: ResolvedLockOptions): Promise<Lock | Busy> {
    const deadline = performance.now() + request.waitMs;
    const leases: Lease[] = [];
    const giveBack = (): Promise<unknown> => Promise.allSettled(leases.map((lease) => lease.release()));
    try {
      for (const name of names) {
        const lease = await this.acquirer.take(name, request, deadline);
        if (!lease) {
          await within(this.options.redisTimeoutMs, giveBack());
          return new Busy(name);
        }
        leases.push(lease);
      }
    } catch (error) {
      void giveBack();
      throw error;
    }
    const lost = leases.find(({ held }) => !held);
    if (!lost) return new HeldLock(leases as [Lease, ...Lease[]]);
    await within(this.options.redisTimeoutMs, giveBack());
    return new Busy(lost.name);
  }

  private refuseReentry(name: string): void {
    for (const lock of this.context.getStore() ?? []) {
      if (!lock.held || !lock.names.includes(name)) continue;
      throw new ReentrantLockError(
        `Lock ${name} is held by the withLock() that this code runs in; it would wait for itself. Pass the lock down instead.`,
      );
    }
  }
}
