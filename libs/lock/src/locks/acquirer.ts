import { randomBytes } from 'node:crypto';
import {
  type KeySpace,
  type ScriptDefinition,
  type ScriptInput,
  type ScriptRegistry,
  UnknownOutcomeError,
} from 'luanest/script-registry';
import { ClosedError, NotReplicatedError, renewalNotReplicated, time, waitOfRenewal } from '../../../internal/src';
import type { ResolvedLockModuleOptions, ResolvedLockOptions } from '../lock.options';
import { acquireLock, leaveQueue, releaseLock, renewLock, waitForLock } from '../lock.scripts';
import { LockLease, LockLeases, type LeasePort, type Released } from './held-lock';
import { Cancellation, ReleaseSubscription, TURN_MS, WaitQueue, type Ticket, type TryResult } from './wait-queue';

/** Ticket id of callers that do not wait. Their `countsMs` is 0, so the script does not write this id to the queue in Redis. */
const NO_TICKET = '-';

interface Acquisition {
  readonly name: string;
  readonly key: string;
  readonly options: ResolvedLockOptions;
  /** Time at which the caller stops waiting, by `time.monotonicMs()`. */
  readonly until: number;
}

/** Acquires the lock on one name: calls Redis, waits while others hold the lock, and starts the lease. */
export class Acquirer {
  readonly leases: LockLeases;
  private readonly tokens: OwnerTokens;
  private readonly space: KeySpace;
  private readonly queues = new Map<string, WaitQueue>();
  private readonly waiting = new Set<Cancellation>();
  private callsInFlight = 0;
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly moduleOptions: ResolvedLockModuleOptions,
  ) {
    this.leases = new LockLeases(registry);
    this.tokens = new OwnerTokens(moduleOptions.node);
    this.space = registry.keySpace('lock');
  }

  /** Returns the Redis key of a name. @throws InvalidInputError for a name that a key cannot hold */
  keyOf(name: string): string {
    return this.space.tag(name).key('lock');
  }

  /**
   * Acquires a name. Returns undefined if the name was not acquired by the end of the wait.
   *
   * @param until end of the wait, by `time.monotonicMs()`; default: `waitMs` from now
   * @throws the reason of the caller's AbortSignal if it is aborted first; InvalidInputError, ClosedError, NotReplicatedError, the errors
   *   of ScriptRegistry.run()
   */
  acquire(
    name: string,
    options: ResolvedLockOptions,
    until = time.monotonicMs() + options.waitMs,
  ): Promise<LockLease | undefined> {
    const acquisition = { name, key: this.keyOf(name), options, until };
    return options.signal ? this.acquireUnlessAborted(acquisition, options.signal) : this.acquireOrWait(acquisition);
  }

  /** True while this process holds no lock, and makes no call that acquires or releases one. */
  get idle(): boolean {
    return this.callsInFlight === 0 && this.leases.all.length === 0;
  }

  /** True while no caller has a lock, and no call that acquires or releases one is in flight. Callers may be waiting. */
  get unused(): boolean {
    return this.callsInFlight === 0 && !this.leases.all.some(({ handedOut }) => handedOut);
  }

  /** Makes all waiting callers fail with ClosedError, and refuses further acquisitions. */
  close(): void {
    this.closed = true;
    for (const cancellation of this.waiting) cancellation.cancel(closedError());
  }

  private async acquireUnlessAborted(acquisition: Acquisition, signal: AbortSignal): Promise<LockLease | undefined> {
    signal.throwIfAborted();
    const cancellation = new Cancellation(signal);
    try {
      return await cancellation.race(this.acquireOrWait(acquisition, cancellation));
    } finally {
      cancellation.close();
    }
  }

  private async acquireOrWait(acquisition: Acquisition, cancellation?: Cancellation): Promise<LockLease | undefined> {
    const { waitMs } = acquisition.options;
    if (this.queues.size === 0 || !this.queues.has(acquisition.key)) {
      const first = await this.tryOnce(acquisition);
      if (first.lease) return first.lease;
      if (waitMs === 0) return first.leftMs < 0 ? this.acquireUnlessQueued(acquisition) : undefined;
    }
    return waitMs === 0 ? undefined : this.wait(acquisition, cancellation);
  }

  private async acquireUnlessQueued(acquisition: Acquisition): Promise<LockLease | undefined> {
    const { lease } = await this.tryOnce(acquisition, { ticket: NO_TICKET, countsMs: 0, turnMs: TURN_MS });
    return lease;
  }

  private async wait(acquisition: Acquisition, cancellation = new Cancellation()): Promise<LockLease | undefined> {
    this.waiting.add(cancellation);
    try {
      const queue = this.queueOf(acquisition);
      const acquiring = queue.wait(acquisition.until, cancellation, (ticket) => this.tryOnce(acquisition, ticket));
      return await cancellation.race(acquiring);
    } finally {
      this.waiting.delete(cancellation);
    }
  }

  private queueOf({ name, key }: Acquisition): WaitQueue {
    const known = this.queues.get(key);
    if (known) return known;
    const ticket = this.tokens.tokenFor(name);
    const keys = this.keysOf(name);
    const queue: WaitQueue = new WaitQueue({
      pollMs: this.moduleOptions.pollMs,
      releases: new ReleaseSubscription(this.registry, name, key, () => queue.released()),
      ticket,
      leave: () => this.runInBackground(leave(this.registry, keys, ticket)),
      onEmpty: () => this.queues.delete(key),
    });
    this.queues.set(key, queue);
    return queue;
  }

  private async tryOnce(acquisition: Acquisition, ticket?: Ticket): Promise<TryResult> {
    this.refuseIfClosed();
    const { name, options } = acquisition;
    const keys = ticket ? this.keysOf(name) : { lock: acquisition.key };
    const { leaseMs } = options;
    const { replicas, replicasTimeoutMs } = this.moduleOptions;
    const calls = new LockCalls(this.registry, this.moduleOptions, name, keys, this.tokens.tokenFor(name));
    const sentAt = time.monotonicMs();
    const deadlineMs = this.deadlineOf(acquisition, sentAt);
    let reply: AcquireReply;
    this.callsInFlight += 1;
    try {
      reply = await calls.acquire({ leaseMs, deadlineMs, ticket });
    } catch (error) {
      // The script may have acquired the lock. This process has no lease for it, so it must be released.
      if (error instanceof UnknownOutcomeError) this.runInBackground(calls.release());
      throw error;
    } finally {
      this.callsInFlight -= 1;
    }
    const { leftMs, fence, ahead = 0, copies = replicas } = reply;
    if (leftMs !== 0) return { lease: undefined, leftMs, ahead };
    if (this.closed) this.runInBackground(calls.release());
    this.refuseIfClosed();
    if (copies < replicas) {
      this.runInBackground(calls.release());
      const what = `Lock ${name} reached ${copies} of ${replicas} replicas within replicasTimeoutMs (${replicasTimeoutMs} ms)`;
      throw new NotReplicatedError(
        `${what}, so the lock was not acquired and the work did not run. Try again, and check that the replicas are connected and ` +
          'do not lag.',
        'claim',
        copies,
        replicas,
      );
    }
    return this.leaseOf(acquisition, calls, fence, sentAt);
  }

  /**
   * Returns how long a call waits for the reply of Redis, ms: the rest of the caller's wait plus `deadlineMs`, and `replicasTimeoutMs` if
   * replicas are required; at most the deadline of the ScriptRegistry.
   */
  private deadlineOf({ until }: Acquisition, now: number): number {
    const { deadlineMs, replicas, replicasTimeoutMs } = this.moduleOptions;
    const replicasMs = replicas > 0 ? replicasTimeoutMs : 0;
    const leftMs = Math.max(0, Math.ceil(until - now));
    return Math.min(this.registry.deadlineMs, leftMs + deadlineMs + replicasMs);
  }

  /** Returns the Redis keys of a lock and of its queue. @throws InvalidInputError for a name that a key cannot hold */
  keysOf(name: string): LockKeys {
    const tag = this.space.tag(name);
    return { lock: tag.key('lock'), queue: tag.key('queue') };
  }

  private leaseOf({ name, options }: Acquisition, calls: LockCalls, fence: number, sentAt: number): TryResult {
    const { leaseMs, renew } = options;
    const lease = new LockLease(name, fence, sentAt, leaseMs, renew, calls, this.leases);
    if (lease.held) return { lease, leftMs: 0, ahead: 0 };
    // The reply took longer than the lease, so another owner may have the lock by now.
    this.runInBackground(calls.release());
    return { lease: undefined, leftMs: 1, ahead: 0 };
  }

  /** Lets a call go on in the background, and ignores its error: a lock or a ticket that stays in Redis expires. */
  private runInBackground(call: Promise<unknown>): void {
    this.callsInFlight += 1;
    const ended = (): void => void (this.callsInFlight -= 1);
    call.then(ended, ended);
  }

  private refuseIfClosed(): void {
    if (this.closed) throw closedError();
  }
}

function closedError(): ClosedError {
  return new ClosedError('LockService: No lock was acquired, because this app is shutting down. The work did not run.');
}

export interface AcquireReply {
  /** Fencing token of this acquisition if `leftMs` is 0; otherwise the last one of the lock. */
  readonly fence: number;
  /**
   * 0: the lock was acquired. -1: the lock is free, but other processes may be waiting for it. Above 0: time until the next attempt, ms.
   */
  readonly leftMs: number;
  /** Number of processes that come before this one in the queue; undefined for a call without a ticket. */
  readonly ahead?: number;
  /** Number of replicas that had the acquisition in time; undefined if no replica was required. */
  readonly copies?: number;
}

export interface AcquireParameters {
  readonly leaseMs: number;
  /** Longest time until the reply, ms. */
  readonly deadlineMs: number;
  /** Ticket of this process in the queue. Without a ticket, the lock is acquired only if it is free and nobody waits for it. */
  readonly ticket?: Ticket;
}

export interface LockKeys {
  readonly lock: string;
  readonly queue: string;
}

/** Calls to Redis for one attempt to acquire a lock, and later for its lease. All of them use the same owner token. */
export class LockCalls implements LeasePort {
  /**
   * @param options how many replicas to wait for and how long, and how long Redis keeps the fencing token after the lease
   * @param owner token that identifies this attempt among all attempts to acquire the lock
   */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: Pick<ResolvedLockModuleOptions, 'replicas' | 'replicasTimeoutMs' | 'fenceRetentionMs'>,
    private readonly name: string,
    private readonly keys: Pick<LockKeys, 'lock'> & Partial<LockKeys>,
    private readonly owner: string,
  ) {}

  acquire(parameters: AcquireParameters): Promise<AcquireReply> {
    const { keys, owner } = this;
    const { leaseMs, ticket } = parameters;
    const args = { owner, leaseMs, ttlMs: leaseMs + this.options.fenceRetentionMs };
    if (ticket) return this.run(waitForLock, { keys: keys as LockKeys, args: { ...args, ...ticket } }, parameters);
    return this.run(acquireLock, { keys, args }, parameters);
  }

  renew(leaseMs: number, deadlineMs: number): Promise<boolean> {
    const { keys, owner } = this;
    const input = { keys, args: { owner, leaseMs, ttlMs: leaseMs + this.options.fenceRetentionMs } };
    if (this.options.replicas === 0) return this.registry.run(renewLock, input, { deadlineMs });
    // WAIT makes sure that the replicas have the renewal. Without it, the lease could end in Redis after a failover before it ends in this
    // process.
    const waited = this.registry.runAndWait(renewLock, input, waitOfRenewal(this.options, deadlineMs));
    return waited.then(({ result, replicas: copies }) => {
      if (!result || copies >= this.options.replicas) return result;
      throw renewalNotReplicated(`lock ${this.name}`, copies, this.options);
    });
  }

  release(): Promise<Released> {
    return this.registry.run(releaseLock, { keys: this.keys, args: { owner: this.owner } });
  }

  private run<K extends readonly string[], A>(
    script: ScriptDefinition<K, A, AcquireReply>,
    input: ScriptInput<K, A>,
    { deadlineMs }: AcquireParameters,
  ): Promise<AcquireReply> {
    const { replicas, replicasTimeoutMs: timeoutMs } = this.options;
    if (replicas === 0) return this.registry.run(script, input, { deadlineMs });
    const waited = this.registry.runAndWait(script, input, { replicas, timeoutMs, deadlineMs });
    return waited.then(({ result, replicas: copies }) => ({ ...result, copies }));
  }
}

/** Removes a ticket from the queue of a lock. Returns false if the queue does not contain the ticket. */
export function leave(registry: ScriptRegistry, keys: LockKeys, ticket: string): Promise<boolean> {
  return registry.run(leaveQueue, { keys, args: { ticket } });
}

/** Maximum number of names that share one owner token. Limits the memory for these names. */
const MAX_NAMES = 1_024;

/**
 * Creates owner tokens. Two acquisitions of one name never have the same token. Acquisitions of different names may share a token. This
 * saves work, because an argument that several calls have in common is sent to Redis only once.
 * See DECISIONS.md: owner-token-for-many-names
 */
export class OwnerTokens {
  private readonly process = randomBytes(9).toString('base64url');
  private readonly names = new Set<string>();
  private issued = 0;
  private token: string;

  /** @param node name of this process, for `LockService.status`; without `#` */
  constructor(private readonly node: string) {
    this.token = this.next();
  }

  tokenFor(name: string): string {
    if (this.names.has(name) || this.names.size === MAX_NAMES) {
      this.names.clear();
      this.token = this.next();
    }
    this.names.add(name);
    return this.token;
  }

  private next(): string {
    return `${this.node}#${this.process}${this.issued++}`;
  }
}

export function nodeOf(token: string): string {
  return token.slice(0, token.lastIndexOf('#'));
}
