import { defaultMaxListeners, getMaxListeners, setMaxListeners } from 'node:events';
import type { ScriptRegistry } from 'luanest/script-registry';
import { endsWithin, time } from '../../../internal/src';
import { events } from '../lock.events';
import type { LockLease } from './held-lock';

/**
 * A free lock is kept for the first process in the queue for this time, ms. After that, the next one may acquire it. Must be longer than a
 * round trip to Redis.
 */
export const TURN_MS = 250;
/** An attempt to acquire the lock waits at most this long for the subscription to releases, ms. */
const SUBSCRIBE_MS = 100;

/** Entry of a process in the queue of a lock, which Redis keeps. */
export interface Ticket {
  readonly ticket: string;
  /** How long the ticket stays valid after the last call of the process, ms. 0: the process does not enter the queue. */
  readonly countsMs: number;
  /** How long a free lock is kept for the first process in the queue, ms. */
  readonly turnMs: number;
}

/** Result of one attempt to acquire the lock. */
export interface TryResult {
  /** Lease of the lock; undefined if the lock was not acquired. */
  readonly lease: LockLease | undefined;
  /** Time until the next attempt, ms. */
  readonly leftMs: number;
  /** Number of processes that come before this one in the queue, without one that takes the free lock next. */
  readonly ahead: number;
}

export interface WaitQueueContext {
  /** Longest pause between two attempts, ms. */
  readonly pollMs: number;
  readonly releases: ReleaseSubscription;
  readonly ticket: string;
  leave(): void;
  onEmpty(): void;
}

/**
 * Callers in this process that wait for one lock, in the order in which they came. They share one ticket in the lock's queue in Redis, and
 * only the first of them calls Redis.
 * See DECISIONS.md: queue-of-processes
 */
export class WaitQueue {
  private readonly sleepers: Sleeper[] = [];
  private readonly ticket: Ticket;
  /** Estimated number of processes before this one in the queue: the last number from Redis, minus the releases since then. */
  private ahead = 0;
  /** Time of the next attempt, by `time.monotonicMs()`. */
  private nextTryAt = 0;
  /** True while Redis may have the ticket of this process. */
  private queued = false;
  /** Number of releases that were reported since the last attempt began. */
  private releasesDuringTry = 0;

  constructor(private readonly context: WaitQueueContext) {
    this.ticket = { ticket: context.ticket, countsMs: 2 * context.pollMs + 1_000, turnMs: TURN_MS };
  }

  /** Call it at each release of the lock, and when a release may have been missed. */
  released(): void {
    this.releasesDuringTry += 1;
    this.advance();
    this.sleepers[0]?.wake();
  }

  /**
   * Waits for the lock. When the caller is the first in this process and it is time for an attempt, calls `tryOnce`.
   *
   * @param until time at which the caller stops waiting, by `time.monotonicMs()`
   * @returns undefined if the wait ended or was cancelled before the lock was acquired
   */
  async wait(
    until: number,
    cancellation: Cancellation,
    tryOnce: (ticket: Ticket) => Promise<TryResult>,
  ): Promise<LockLease | undefined> {
    const caller = new Sleeper();
    this.sleepers.push(caller);
    cancellation.onCancel(() => caller.wake());
    try {
      for (;;) {
        const leftMs = until - time.monotonicMs();
        if (cancellation.cancelled || leftMs <= 0) return undefined;
        const dueMs = this.sleepers[0] === caller ? this.nextTryAt - time.monotonicMs() : Infinity;
        if (dueMs > 0) {
          await caller.sleep(Math.max(1, Math.min(dueMs, leftMs)));
        } else {
          const lease = await this.tryNow(Math.min(leftMs, SUBSCRIBE_MS), tryOnce);
          if (lease) return lease;
        }
      }
    } finally {
      this.sleepers.splice(this.sleepers.indexOf(caller), 1);
      if (this.sleepers.length === 0) this.close();
      else this.sleepers[0]?.wake();
    }
  }

  private async tryNow(
    subscribeMs: number,
    tryOnce: (ticket: Ticket) => Promise<TryResult>,
  ): Promise<LockLease | undefined> {
    const { releases, pollMs } = this.context;
    // The subscription must begin before the attempt, or a release between the two would be missed.
    await releases.open(subscribeMs);
    this.queued = true;
    this.releasesDuringTry = this.ahead = this.nextTryAt = 0;
    const result = await tryOnce(this.ticket);
    if (result.lease) {
      this.queued = false;
      return result.lease;
    }
    this.ahead = result.ahead;
    const polls = pollMs * (0.5 + Math.random() / 2);
    // Without a subscription, the first process in the queue must try again within TURN_MS, or it loses its turn.
    const pause = releases.active || result.ahead > 0 ? polls : Math.min(polls, TURN_MS / 2);
    this.nextTryAt = time.monotonicMs() + Math.min(pause, result.leftMs + 1);
    // The reply may not include releases that were reported during the attempt, so they are counted now.
    for (let i = 0; i < this.releasesDuringTry; i++) this.advance();
    return undefined;
  }

  private advance(): void {
    if (this.ahead === 0) {
      this.nextTryAt = 0;
    } else {
      this.ahead -= 1;
      // The first process in the queue may have died. This process tries again when the turn of the first process is over.
      this.nextTryAt = Math.min(this.nextTryAt, time.monotonicMs() + TURN_MS);
    }
  }

  private close(): void {
    this.context.releases.close();
    if (this.queued) this.context.leave();
    this.context.onEmpty();
  }
}

/**
 * Subscription to the Pub/Sub channel on which scripts announce the release of one lock.
 * See DECISIONS.md: releases-wake-by-sharded-channel
 */
export class ReleaseSubscription {
  private unsubscribe: (() => void) | undefined;
  private opening: Promise<void> | undefined;
  private closed = false;

  /** @param onRelease function to call at each message, and when messages may have been missed */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly name: string,
    private readonly key: string,
    private readonly onRelease: () => void,
  ) {}

  /** True if the last attempt to subscribe succeeded. Otherwise the waiting callers only poll. */
  get active(): boolean {
    return this.unsubscribe !== undefined;
  }

  /**
   * Subscribes, unless a subscription is in flight. The connection may have been lost since the last call, so each call subscribes again.
   * Returns after `timeoutMs` at the latest. If the subscription succeeds later, calls `onRelease`, because a release may have been missed.
   */
  async open(timeoutMs: number): Promise<void> {
    let late = false;
    this.opening ??= this.subscribe().then((subscribed) => {
      this.opening = undefined;
      if (late && subscribed) this.onRelease();
    });
    await endsWithin(timeoutMs, this.opening);
    late = true;
  }

  close(): void {
    this.closed = true;
    this.drop();
  }

  private drop(): void {
    this.unsubscribe?.();
    this.unsubscribe = undefined;
  }

  /** Returns true if the subscription succeeded and is still wanted. */
  private async subscribe(): Promise<boolean> {
    let current = true;
    try {
      const stop = await this.registry.listen(this.key, () => {
        if (current) this.onRelease();
      });
      this.unsubscribe?.();
      this.unsubscribe = () => {
        current = false;
        stop();
      };
      if (this.closed) this.drop();
      return !this.closed;
    } catch (error) {
      this.drop();
      events.callFailed.publish(() => ({ name: this.name, during: 'subscribe', error }));
      return false;
    }
  }
}

/** Cancels the attempt to acquire a lock, because the caller's AbortSignal was aborted or the app shuts down. Does not wait for Redis. */
export class Cancellation {
  private readonly listeners = new Set<() => void>();
  private reason: { readonly error: unknown } | undefined;

  /** @param signal AbortSignal of the caller. Call `close` when the attempt has ended */
  constructor(private readonly signal?: AbortSignal) {
    if (!signal) return;
    // Callers may pass one AbortSignal to many attempts at once, and Node would warn at the eleventh listener.
    if (hasDefaultLimit(signal)) setMaxListeners(Infinity, signal);
    signal.addEventListener('abort', this.aborted);
  }

  get cancelled(): boolean {
    return this.reason !== undefined;
  }

  cancel(error: unknown): void {
    if (this.reason) return;
    this.reason = { error };
    for (const listener of this.listeners) listener();
  }

  /** Calls `listener` when the attempt is cancelled; at once if it is cancelled already. */
  onCancel(listener: () => void): void {
    this.listeners.add(listener);
    if (this.reason) listener();
  }

  /**
   * Returns the result of `acquiring`. If the attempt is cancelled first, throws the error of the cancellation, and releases a lease that
   * arrives later.
   *
   * @throws the error of the cancellation
   */
  race(acquiring: Promise<LockLease | undefined>): Promise<LockLease | undefined> {
    return new Promise((resolve, reject) => {
      this.onCancel(() => reject((this.reason as { error: Error }).error));
      acquiring.then((lease) => {
        if (this.reason) lease?.release().catch(() => undefined);
        else resolve(lease);
      }, reject);
    });
  }

  close(): void {
    this.signal?.removeEventListener('abort', this.aborted);
  }

  private readonly aborted = (): void => this.cancel(this.signal?.reason);
}

/**
 * Returns true if an AbortSignal has Node's default limit of listeners. Node 20 throws here for a signal without a limit, such as
 * `Lock.signal`, and for a signal that Node has not created, such as that of a polyfill. Such signals never warn.
 */
function hasDefaultLimit(signal: AbortSignal): boolean {
  try {
    return getMaxListeners(signal) === defaultMaxListeners;
  } catch {
    return false;
  }
}

/** A pause that other code can end early. */
export class Sleeper {
  private woken = false;
  private endSleep: (() => void) | undefined;

  /** Sleeps for at most `ms`. Returns at once if `wake` was called since the last sleep. */
  async sleep(ms: number): Promise<void> {
    if (!this.woken) {
      await new Promise<void>((resolve) => {
        const timer = time.setTimer(resolve, ms);
        this.endSleep = () => {
          time.clearTimer(timer);
          resolve();
        };
      });
    }
    this.woken = false;
    this.endSleep = undefined;
  }

  /** Ends the current sleep. If nothing sleeps, the next sleep ends at once. */
  wake(): void {
    this.woken = true;
    this.endSleep?.();
  }
}
