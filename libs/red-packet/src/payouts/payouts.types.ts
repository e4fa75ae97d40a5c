import type { HandlerResult } from 'luanest/stream-consumer';
import type { GrantRecord } from '../red-packet.types';

/** A packet to be paid: `amountCents` to `userId`, once per (activityKey, packetId) and once per (activityKey, userId). */
export interface Payout extends GrantRecord {
  readonly activityId: string;
  /**
   * `<activityId, percent-encoded>@<expiresAtMs>`: of this activity, and of no later one with the same id. `status` returns
   * the same. Book by it, unless ids are never used again.
   */
  readonly activityKey: string;
  /**
   * `<activityKey>:<packetId>`: the same at each attempt, of visible ASCII, so that it can be a receiver's
   * idempotency key. A failover may grant a packet anew: a receiver must refuse the same key with another user.
   */
  readonly idempotencyKey: string;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** Fires when the payout may be another process': its lease is over, the handler took too long, or the app shuts down. */
  readonly signal: AbortSignal;
}

/**
 * Pays: resolving settles the payout, throwing has it tried again; `retryLater({ delayMs })` and `deadLetter(reason)` of
 * `luanest/stream-consumer` say so.
 */
export type PayoutHandler = (payout: Payout) => HandlerResult | Promise<HandlerResult>;

/** How payouts are handed out; what is left out is as StreamConsumerModule has it, except for `attempts` and `pollMs`. */
export interface PayoutOptions {
  /** Handlers that run at a time for each activity in this process, integer of 1 to 10,000. */
  readonly concurrency?: number;
  /** How long a payout outlives a process that dies before another takes it over, ms; integer >= 100. */
  readonly leaseMs?: number;
  /** Attempts before a payout is a dead letter, integer of 1 to 10,000. Default 20. */
  readonly attempts?: number;
  /** Pause after the first failure, ms; doubled at each further one. */
  readonly backoffMs?: number;
  /** Longest pause, ms. */
  readonly maxBackoffMs?: number;
  /** How long a handler may run before the attempt counts as failed, ms. */
  readonly handlerTimeoutMs?: number;
  /** Longest pause between two looks at an outbox, ms; integer >= 1. Default 250. */
  readonly pollMs?: number;
  /** How often activities are looked for, ms; integer of 10 to 60,000. Default 1,000. */
  readonly discoverMs?: number;
}

/** Payouts that are handed to a handler of this process. */
export interface PayoutRun {
  /** Activities whose outboxes are read now. */
  readonly activities: readonly string[];
  /** Takes nothing new, awaits what runs, and hands the rest back. Harmless twice. */
  stop(): Promise<void>;
}

/** How the payouts of an activity stand, all processes together. */
export interface PayoutStats {
  /** Not settled: not yet taken, in work, or waiting for another attempt. */
  readonly open: number;
  /** Of these, taken at least once. */
  readonly pending: number;
  /** Age of the oldest that is not settled, ms; undefined when there is none. */
  readonly oldestMs: number | undefined;
  /** Given up: see `deadLetters`. */
  readonly dead: number;
  /** Processes that hand them out; each counts once a bucket. */
  readonly consumers: number;
}

/** A payout that was given up. */
export interface DeadPayout {
  /** For `replay` and `drop`. */
  readonly id: string;
  /** Undefined where the entry was none that a grab wrote. */
  readonly payout: GrantRecord | undefined;
  /** The last error, or the reason that the handler gave. */
  readonly error: string;
  readonly attempts: number;
  readonly firstSeenAt: Date;
  readonly deadAt: Date;
}

/** Dead payouts, the oldest of each bucket first. */
export interface DeadPayoutPage {
  readonly items: readonly DeadPayout[];
  /** Pass it to read the next page; undefined after the last. */
  readonly nextCursor?: string;
}
