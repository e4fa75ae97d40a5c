import type { DeadLetter, HandlerResult } from 'luanest/stream-consumer';
import type { WorkOptions } from '../../../worker/src';
import type { Grant } from '../red-packet.types';

/**
 * A packet that must be paid: `amountCents` to `userId`. Pay each (activityKey, packetId) at most once, and each (activityKey,
 * userId) at most once.
 */
export interface Payout extends Grant {
  readonly activityId: string;
  /**
   * Key of this activity, `<activityId, percent-encoded>@<expiresAtMs>`. An activity that uses the id again, after this
   * one has expired, has another key.
   * `RedPacketService.status` returns the same key. Use the key in the ledger instead of the id, unless you never reuse ids.
   */
  readonly activityKey: string;
  /**
   * `<activityKey>:<packetId>` in visible ASCII, the same at each attempt, so that a payment service can use it as idempotency
   * key. After a failover the same packet may be granted to another user, so the service must refuse a known key with another
   * user.
   */
  readonly idempotencyKey: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /**
   * Aborted when this process may no longer own the payout, when the handler runs longer than `timeoutMs`, and when the run has
   * not stopped within `drainMs`.
   */
  readonly signal: AbortSignal;
}

/**
 * Pays one payout. When the handler returns nothing, the payout is settled: it counts as paid, and is removed from the outbox. When
 * it throws an error, the attempt has failed. Return or throw `retryLater({ delayMs })` or `deadLetter(reason)` of
 * `luanest/stream-consumer` for another outcome.
 */
export type PayoutHandler = (payout: Payout) => HandlerResult | Promise<HandlerResult>;

/** Options of a payout run. Default of `attempts`: 20, at most 9,999. The others have the defaults that are set in StreamConsumerModule. */
export type PayoutOptions = WorkOptions;

/** A payout run: it calls a handler for payouts in this process. */
export interface PayoutRun {
  /**
   * Stops the run: waits for running handlers as `drainMs` and `abortGraceMs` of StreamConsumerModule say, and leaves all other
   * payouts to other processes. May be called twice.
   */
  stop(): Promise<void>;
}

/** Numbers of payouts of an activity, for all processes together. */
export interface PayoutStats {
  /** Open payouts: neither settled nor dead-lettered. They wait for a process, are being paid, or wait for the next attempt. */
  readonly open: number;
  /** Dead-lettered payouts. `RedPacketPayouts.deadLetters` lists them. */
  readonly deadLetters: number;
}

/**
 * A dead-lettered payout: its handler is not called again until the payout is replayed. The payload is the packet and its winner;
 * undefined if another program has changed the dead letter.
 */
export type PayoutDeadLetter = Pick<
  DeadLetter<Grant | undefined>,
  'id' | 'payload' | 'error' | 'attemptsMade' | 'deadAtMs' | 'firstSeenAtMs'
>;
