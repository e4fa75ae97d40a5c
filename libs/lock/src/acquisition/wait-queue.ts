import { time } from '../../../internal/src';
import type { Lease } from '../lease/lease';
import type { Cancellation } from './cancellation';
import type { Ticket } from './lock-calls';
import type { ReleaseSubscription } from './release-subscription';
import { Sleeper } from './sleeper';

/** Time that the first process in the queue has to acquire a free lock, ms. Must be longer than a round trip to Redis. */
export const TURN_MS = 250;
/** Longest time for which a try waits for the subscription to releases, ms. */
const SUBSCRIBE_MS = 100;

/** Result of one try. */
export interface TryResult {
  /** Undefined if the lock was not acquired. */
  readonly lease: Lease | undefined;
  /** Time after which to try again, ms. */
  readonly leftMs: number;
  /** Number of tickets before ours. */
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
 * Callers in this process that wait for one lock, first come, first served. All of these callers share one ticket in the queue
 * that Redis keeps, and only the first caller calls Redis.
 * See DECISIONS.md: queue-of-processes
 */
export class WaitQueue {
  private readonly sleepers: Sleeper[] = [];
  private readonly ticket: Ticket;
  /** Number of tickets before ours: the number that Redis returned, less one for each release since then; at least 0. */
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
   * Waits for the lock. Calls `tryOnce` whenever the caller is the first in this queue and a try is due.
   *
   * @param until end of the wait, by `time.monotonicMs()`
   * @returns undefined if the wait ended or was cancelled before the lock was acquired
   */
  async wait(
    until: number,
    cancellation: Cancellation,
    tryOnce: (ticket: Ticket) => Promise<TryResult>,
  ): Promise<Lease | undefined> {
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
  ): Promise<Lease | undefined> {
    const { releases, pollMs } = this.context;
    // Subscribe first: a release between the try and the subscription would be missed.
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
    // Without a subscription, the first process in the queue must try again before its turn ends.
    const pause = releases.active || result.ahead > 0 ? polls : Math.min(polls, TURN_MS / 2);
    this.nextTryAt = time.monotonicMs() + Math.min(pause, result.leftMs + 1);
    // The reply may be older than a release that was reported during the try.
    for (let i = 0; i < this.releasesDuringTry; i++) this.advance();
    return undefined;
  }

  private advance(): void {
    if (this.ahead === 0) {
      this.nextTryAt = 0;
    } else {
      this.ahead -= 1;
      // The first process in the queue may have died, so try again after its turn.
      this.nextTryAt = Math.min(this.nextTryAt, time.monotonicMs() + TURN_MS);
    }
  }

  private close(): void {
    this.context.releases.close();
    if (this.queued) this.context.leave();
    this.context.onEmpty();
  }
}
