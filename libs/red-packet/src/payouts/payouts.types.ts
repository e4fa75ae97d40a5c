import type { HandlerResult, StreamBackoff } from 'luanest/stream-consumer';
import type { GrantRecord } from '../red-packet.types';

/** A packet to be paid: `amountCents` to `userId`, once per (activityKey, packetId) and once per (activityKey, userId). */
export interface Payout extends GrantRecord {
  readonly activityId: string;
  /**
   * Key of this activity, `<activityId, percent-encoded>@<expiresAtMs>`. A later activity with the same id has another key.
   * `RedPacketService.status` returns the same key. Book by it, unless ids are never reused.
   */
  readonly activityKey: string;
  /**
   * `<activityKey>:<packetId>` in visible ASCII, the same at each attempt, so a receiver can use it as an idempotency key.
   * After a failover the same packet may be granted to another user: a receiver must refuse the same key with another user.
   */
  readonly idempotencyKey: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** Fires when another process may take the payout: its lease ended, the handler timed out, or the app shuts down. */
  readonly signal: AbortSignal;
}

/**
 * Pays one payout. If it returns, the payout is settled. If it throws, the attempt has failed. Return `retryLater({ delayMs })`
 * or `deadLetter(reason)` of `luanest/stream-consumer` to choose the outcome.
 */
export type PayoutHandler = (payout: Payout) => HandlerResult | Promise<HandlerResult>;

/** Options of a payout run. Except for `attempts`, `pollMs` and `discoverMs`, the defaults are those of StreamConsumerModule. */
export interface PayoutOptions {
  /** Handlers that run at the same time for each activity in this process; integer from 1 to 10,000. */
  readonly concurrency?: number;
  /** How long a payout stays with a process that died before another process takes it over, ms; integer >= 100. */
  readonly leaseMs?: number;
  /** Attempts before a payout is dead-lettered; integer from 1 to 10,000. Default 20. */
  readonly attempts?: number;
  /** Pauses between attempts. */
  readonly backoff?: StreamBackoff;
  /** How long a handler may run before the attempt fails, ms; integer >= 1. */
  readonly timeoutMs?: number;
  /** Longest pause between two reads of an empty outbox, ms; integer >= 1. Default 250. */
  readonly pollMs?: number;
  /** Time between two searches for activities to pay, ms; integer from 10 to 60,000. Default 1,000. */
  readonly discoverMs?: number;
}

/** A payout run of this process. */
export interface PayoutRun {
  /** Ids of the activities whose outboxes are being read. */
  readonly activities: readonly string[];
  /** Stops reading, waits for the handlers that run, and returns the other payouts to the outbox. Harmless twice. */
  stop(): Promise<void>;
}

/** State of the payouts of an activity, over all processes. */
export interface PayoutStats {
  /** Payouts that are not settled: not taken yet, in flight, or waiting for the next attempt. */
  readonly open: number;
  /** Open payouts that were taken at least once. */
  readonly pending: number;
  /** Age of the oldest open payout, ms; undefined without open payouts. */
  readonly oldestMs: number | undefined;
  /** Dead-lettered payouts: see `RedPacketPayouts.deadLetters`. */
  readonly deadLetters: number;
  /** Processes that read the outboxes. Each process counts once for each bucket. */
  readonly consumers: number;
}

/** A dead-lettered payout: it is not tried again until it is replayed. */
export interface PayoutDeadLetter {
  /** Id for `replay` and `drop`. */
  readonly id: string;
  /** The payout; undefined if a grab did not write the entry. */
  readonly payout: GrantRecord | undefined;
  /** The last error, or the reason that the handler gave. */
  readonly error: string;
  /** Attempts that were made. */
  readonly attempts: number;
  /** When a process first took it, ms since 1970. */
  readonly firstSeenAtMs: number;
  /** When it was dead-lettered, ms since 1970. */
  readonly deadAtMs: number;
}

/** A page of dead-lettered payouts, the oldest of each bucket first. */
export interface PayoutDeadLetterPage {
  readonly items: readonly PayoutDeadLetter[];
  /** Cursor of the next page; undefined after the last page. */
  readonly nextCursor?: string;
}
