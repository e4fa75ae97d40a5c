import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import {
  type ScriptRegistry,
  InvalidCallError,
  NotSentError,
  ScriptRefusedError,
  UnknownOutcomeError,
} from 'luanest/script-registry';
import { HeldLock } from './held-lock';
import { Lease } from './lease';
import {
  LockBusyError,
  LockClosedError,
  LockLostError,
  LockNotReplicatedError,
  ReentrantLockError,
} from './lock.errors';
import { publish } from './lock.events';
import { resolveAcquire, resolveOptions, type LockOptions, type ResolvedLockModuleOptions } from './lock.options';
import { acquireLock, forceUnlock, readStatus, releaseLock, renewLock } from './lock.scripts';
import type { Lock, LockStatus } from './lock.types';
import { Waiting } from './waiting';

type Names = string | readonly string[];
type Request = Required<LockOptions>;

/** Locks by name: one holder each, in all processes that use one Redis and prefix. */
export class LockService implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly context = new AsyncLocalStorage<readonly Lock[]>();
  private readonly held = new Map<string, Set<Lease>>();
  private readonly waiters = new Set<Waiting>();
  private readonly tokens = randomBytes(9).toString('base64url');
  private acquisitions = 0;
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedLockModuleOptions = resolveOptions(),
  ) {}

  /**
   * Takes a lock, or several: sorted, all or none.
   *
   * @throws LockBusyError when others held one of them for `waitMs`
   * @throws ReentrantLockError inside `withLock` of the same name
   * @throws LockNotReplicatedError, LockClosedError, errors of the registry
   */
  async acquire(names: Names, options: LockOptions = {}): Promise<Lock> {
    const request = resolveAcquire(options, this.options);
    const lock = await this.take(names, request);
    if (lock) return lock;
    throw new LockBusyError(
      `Lock ${[names].flat().join(', ')} was held by others for all of the ${request.waitMs} ms that this call would wait.`,
    );
  }

  /** As `acquire`, without waiting: undefined when one of the names is held by others. */
  async tryAcquire(names: Names, options: Omit<LockOptions, 'waitMs' | 'onBusy'> = {}): Promise<Lock | undefined> {
    return this.take(names, resolveAcquire({ ...options, onBusy: 'skip' }, this.options));
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
    const skip = options.onBusy === 'skip';
    const lock = skip
      ? await this.take(names, resolveAcquire(options, this.options))
      : await this.acquire(names, options);
    if (!lock) return undefined;
    let result: T;
    try {
      result = await this.context.run([...(this.context.getStore() ?? []), lock], async () => work(lock));
    } catch (error) {
      await this.releaseQuietly(lock);
      throw error;
    }
    const outcome = await this.releaseQuietly(lock);
    if (outcome === 'lost') {
      throw new LockLostError(`Lock ${lock.names.join(', ')} was lost before its work was done.`);
    }
    return result;
  }

  /** Who holds a lock, since when and until when, and its last fence. @throws errors of the registry */
  async status(name: string): Promise<LockStatus> {
    const { held, fence, since, till, owner } = await this.registry.run(readStatus, {
      keys: { lock: this.keyOf(name) },
      args: {},
    });
    if (!held) return { held: false, fence };
    return { held: true, holder: owner.slice(0, owner.lastIndexOf('#')), since, until: till, fence };
  }

  /**
   * Takes a lock from whoever has it and raises its fence. The old holder's signal fires at its next renewal, at once
   * when it is in this process.
   *
   * @throws errors of the registry
   */
  async forceUnlock(name: string): Promise<{ readonly forced: boolean; readonly fence: number }> {
    const lock = this.keyOf(name);
    const answer = await this.registry.run(forceUnlock, {
      keys: { lock },
      args: { retentionMs: this.options.fenceRetentionMs },
    });
    for (const lease of [...(this.held.get(name) ?? [])]) {
      if (lease.fence < answer.fence) lease.lose('it was unlocked by force');
    }
    return answer;
  }

  /** Ends all waiting, and refuses to take more locks. */
  beforeApplicationShutdown(): void {
    this.closed = true;
    for (const waiting of this.waiters) waiting.ring();
  }

  /** Gives back what is still held. */
  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    const leases = [...this.held.values()].flatMap((set) => [...set]);
    await Promise.all(leases.map((lease) => lease.release().catch(() => undefined)));
  }

  private keyOf(name: string): string {
    return this.registry.keySpace('lock').tag(name).key('lock');
  }

  private async take(names: Names, request: Request): Promise<Lock | undefined> {
    const deadline = performance.now() + request.waitMs;
    if (typeof names === 'string') {
      const lease = await this.takeOne(names, request, deadline);
      return lease && new HeldLock([lease]);
    }
    const sorted = [...new Set(names)].sort();
    if (sorted.length === 0) throw new InvalidCallError('The list of names is empty. Give at least one.');
    for (const name of sorted) this.refuseReentry(name);
    const leases: Lease[] = [];
    let complete = false;
    try {
      for (const name of sorted) {
        const lease = await this.takeOne(name, request, deadline);
        if (!lease) return undefined;
        leases.push(lease);
      }
      complete = leases.every(({ held }) => held);
      return complete ? new HeldLock(leases) : undefined;
    } finally {
      if (!complete) await Promise.allSettled(leases.map((lease) => lease.release()));
    }
  }

  private async takeOne(name: string, request: Request, deadline: number): Promise<Lease | undefined> {
    this.refuseReentry(name);
    const key = this.keyOf(name);
    const first = await this.attempt(name, key, request, request.waitMs > 0);
    if (first instanceof Lease || request.waitMs === 0) return first instanceof Lease ? first : undefined;
    const waiting = new Waiting(this.registry, name, key);
    this.waiters.add(waiting);
    try {
      for (let leftMs = first; ;) {
        const remaining = deadline - performance.now();
        if (remaining <= 0) return undefined;
        // A release between the try and the subscription would be missed: try again once it stands.
        if (!(await waiting.listen(Math.min(remaining, this.options.pollMs)))) {
          const pause = this.options.pollMs * (0.5 + Math.random() / 2);
          await waiting.sleep(Math.max(1, Math.min(deadline - performance.now(), pause, leftMs + 1)));
        }
        const answer = await this.attempt(name, key, request, true);
        if (answer instanceof Lease) return answer;
        leftMs = answer;
      }
    } finally {
      waiting.close();
      this.waiters.delete(waiting);
    }
  }

  /** The lease, or what is left of the holder's, ms. */
  private async attempt(name: string, lock: string, request: Request, waits: boolean): Promise<Lease | number> {
    if (this.closed) throw new LockClosedError(`Lock ${name} was not taken: the app is shutting down.`);
    const { leaseMs, replicas, replicasTimeoutMs } = request;
    const retentionMs = this.options.fenceRetentionMs;
    const owner = `${this.options.holder}#${this.tokens}${this.acquisitions++}`;
    const input = { keys: { lock }, args: { owner, leaseMs, retentionMs, waits: waits ? 1 : 0 } };
    const release = () => this.registry.run(releaseLock, { keys: { lock }, args: { owner, retentionMs } });
    const sentAt = performance.now();
    let answer: { taken: boolean; fence: number; leftMs: number };
    let copies = 0;
    try {
      if (replicas === 0) answer = await this.registry.run(acquireLock, input);
      else {
        const waited = await this.registry.runAndWait(acquireLock, input, { replicas, timeoutMs: replicasTimeoutMs });
        ({ result: answer, replicas: copies } = waited);
      }
    } catch (error) {
      // Unless it is known not to have run, the lock may be ours without anybody to hold it.
      if (error instanceof UnknownOutcomeError) release().catch(() => undefined);
      throw error;
    }
    if (!answer.taken) return answer.leftMs;
    if (copies < replicas) {
      await release().catch(() => undefined);
      throw new LockNotReplicatedError(
        `Lock ${name} reached ${copies} of ${replicas} replicas in ${replicasTimeoutMs} ms.`,
      );
    }
    return this.hold(name, lock, owner, answer.fence, request, sentAt, release);
  }

  private hold(
    name: string,
    lock: string,
    owner: string,
    fence: number,
    { leaseMs, renew }: Request,
    sentAt: number,
    release: () => Promise<boolean>,
  ): Lease | number {
    const retentionMs = this.options.fenceRetentionMs;
    const ended = (): void => this.forget(name, lease);
    const lease: Lease = new Lease(
      { name, fence, leaseMs, sentAt, renew, ended },
      {
        renew: async (nextMs, deadlineMs) => {
          const args = { owner, leaseMs: nextMs, retentionMs };
          return (await this.registry.run(renewLock, { keys: { lock }, args }, { deadlineMs })).held;
        },
        release,
      },
    );
    if (!lease.held) {
      // The answer came when the lease was over already.
      release().catch(() => undefined);
      return 1;
    }
    const set = this.held.get(name);
    if (set) set.add(lease);
    else this.held.set(name, new Set([lease]));
    return lease;
  }

  private forget(name: string, lease: Lease): void {
    const set = this.held.get(name);
    if (set?.delete(lease) && set.size === 0) this.held.delete(name);
  }

  private refuseReentry(name: string): void {
    for (const lock of this.context.getStore() ?? []) {
      if (!lock.held || !lock.names.includes(name)) continue;
      throw new ReentrantLockError(
        `Lock ${name} is held by the withLock() that this code runs in; it would wait for itself. Pass the lock down instead.`,
      );
    }
  }

  private async releaseQuietly(lock: Lock): Promise<'released' | 'lost' | 'unknown'> {
    try {
      return await lock.release();
    } catch (error) {
      publish('error', () => ({ name: lock.names.join(', '), during: 'release', error }));
      const nothingSent = error instanceof NotSentError || error instanceof ScriptRefusedError;
      return nothingSent || error instanceof UnknownOutcomeError ? 'unknown' : 'lost';
    }
  }
}
