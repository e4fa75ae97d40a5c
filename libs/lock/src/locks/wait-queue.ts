import { defaultMaxListeners, getMaxListeners, setMaxListeners } from 'node:events';
import type { ScriptRegistry } from 'luanest/script-registry';
import { endsWithin, time } from '../../../internal/src';
import { events } from '../lock.events';
import type { LockLease } from './held-lock';

/**
 * How long a free lock is kept for the first process in the queue, ms. After that, the next process may acquire the lock. Must be
 * longer than a round trip to Redis.
 */
export const TURN_MS = 250;
/** Longest time for which a try to acquire the lock waits for the subscription to releases, ms. */
const SUBSCRIBE_MS = 100;

/** Ticket of a process: its entry in the queue of a lock, which Redis keeps. */
export interface Ticket {
  readonly ticket: string;
  /** How long the ticket stays valid after the process' last call, ms. 0: the ticket is not added to the queue. */
  readonly countsMs: number;
  /** How long a free lock is kept for the first process in the queue, ms. */
  readonly turnMs: number;
}

/** Result of one try to acquire the lock. */
export interface TryResult {
  /** Undefined if the lock was not acquired. */
  readonly lease: LockLease | undefined;
  /** Time until the next try, ms. */
  readonly leftMs: number;
  /** Number of tickets before the ticket of this process. */
  readonly ahead: number;
}

export interface WaitQueueContext {
  /** Longest pause between two tries, ms. */
  readonly pollMs: number;
  readonly releases: ReleaseSubscription;
  readonly ticket: string;
  leave(): void;
  onEmpty(): void;
}

/**
 * Queue of the callers in this process that wait for one lock, first come, first served. All these callers share one ticket in the
 * lock's queue in Redis. Only the first caller calls Redis.
 * See DECISIONS.md: queue-of-processes
 */
export class WaitQueue {
  private readonly sleepers: Sleeper[] = [];
  private readonly ticket: Ticket;
  /**
   * Estimated number of tickets before the ticket of this process: the number that Redis last returned, minus the number of releases
   * since then. At least 0.
   */
  private ahead = 0;
  /** When to try again, by `time.monotonicMs()`. */
  private nextTryAt = 0;
  /** True while the ticket may be in Redis. */
  private queued = false;
  /** Number of releases since the last try began. */
  private releasesDuringTry = 0;

  constructor(private readonly context: WaitQueueContext) {
    this.ticket = { ticket: context.ticket, countsMs: 2 * context.pollMs + 1_000, turnMs: TURN_MS };
  }

  /** Must be called at each release of the lock, and when a release may have been missed. */
  released(): void {
    this.releasesDuringTry += 1;
    this.advance();
    this.sleepers[0]?.wake();
  }

  /**
   * Waits for the lock. Whenever the caller is the first in this queue and it is time for a try, calls `tryOnce`.
   *
   * @param until end of the wait, by `time.monotonicMs()`
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
    // The subscription must come before the try. Otherwise a release between the two would be missed.
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
    // Without a subscription, this process must try again within TURN_MS if it is the first in the queue. Otherwise it loses its turn.
    const pause = releases.active || result.ahead > 0 ? polls : Math.min(polls, TURN_MS / 2);
    this.nextTryAt = time.monotonicMs() + Math.min(pause, result.leftMs + 1);
    // If releases were reported during the try, the reply may not count them. So count them now.
    for (let i = 0; i < this.releasesDuringTry; i++) this.advance();
    return undefined;
  }

  private advance(): void {
    if (this.ahead === 0) {
      this.nextTryAt = 0;
    } else {
      this.ahead -= 1;
      // The process that is first in the queue now may have died. So this process tries again when the turn of that process is over.
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
 * Subscription to the sharded channel on which scripts wake the callers that wait for one lock.
 * See DECISIONS.md: releases-wake-by-sharded-channel
 */
export class ReleaseSubscription {
  private unsubscribe: (() => void) | undefined;
  private opening: Promise<void> | undefined;
  private closed = false;

  /** @param onRelease called at each message of the channel, and when messages may have been missed */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly name: string,
    private readonly key: string,
    private readonly onRelease: () => void,
  ) {}

  /** True if the last attempt to subscribe succeeded. Otherwise waiters only poll. */
  get active(): boolean {
    return this.unsubscribe !== undefined;
  }

  /**
   * Subscribes. Each call subscribes again, because the connection may have been lost; but not while the subscription of an earlier call
   * is in flight. Returns after `timeoutMs` at the latest. If the subscription succeeds after that, calls `onRelease`, because a release
   * may have been missed.
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

  /** Returns true if the subscription succeeded, and `close` was not called. */
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

/** Ends an acquisition early, after the caller's signal or at the shutdown of the app. Does not wait for Redis. */
export class Cancellation {
  private readonly listeners = new Set<() => void>();
  private reason: { readonly error: unknown } | undefined;

  /** @param signal signal of the caller that cancels the acquisition. When the acquisition has ended, call `close` */
  constructor(private readonly signal?: AbortSignal) {
    if (!signal) return;
    // Callers may pass one signal to many acquisitions at once. Node would warn at the eleventh listener.
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

  /** Calls `listener` when the acquisition is cancelled; at once if it is cancelled already. */
  onCancel(listener: () => void): void {
    this.listeners.add(listener);
    if (this.reason) listener();
  }

  /**
   * Returns the result of `acquiring`. A lease that arrives after the cancellation is released.
   *
   * @throws the error of the cancellation, as soon as the acquisition is cancelled
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
 * Returns true if a signal has Node's default limit of listeners. Node 20 throws for a signal without a limit, such as `Lock.signal`,
 * and for a signal that is not a class of Node. Such signals do not warn, so the function returns false.
 */
function hasDefaultLimit(signal: AbortSignal): boolean {
  try {
    return getMaxListeners(signal) === defaultMaxListeners;
  } catch {
    return false;
  }
}

/** Pause that another function can end early. */
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

  /** Ends the current sleep. If nothing sleeps now, the next sleep ends at once. */
  wake(): void {
    this.woken = true;
    this.endSleep?.();
  }
}
