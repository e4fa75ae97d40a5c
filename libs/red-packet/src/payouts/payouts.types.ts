import type { DeadLetter, HandlerResult } from 'luanest/stream-consumer';
import type { Grant } from '../red-packet.types';

/**
 * A packet that must be paid: `amountCents` to `userId`. For one `activityKey`, pay each packet at most once, and each user at most
 * once.
 */
export interface Payout extends Grant {
  readonly activityId: string;
  /**
   * Key of this activity, `<activityId, percent-encoded>@<expiresAtMs>`. If your app uses the id again after this activity has
   * expired, the new activity has another key. `RedPacketService.status` returns the same key. Use the key in the ledger instead of
   * the id, unless you never use an id again.
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
   * Signal that is aborted in three cases: another process may take over the payout; the handler runs longer than `timeoutMs`; or the
   * run was stopped, and has not ended within `drainMs`.
   */
  readonly signal: AbortSignal;
}

/**
 * Pays one payout. If the handler returns nothing, the payout counts as paid (is settled), and leaves the outbox, the stream of open
 * payouts. If the handler throws an error, the attempt has failed. Return or throw `retryLater({ delayMs })` or `deadLetter(reason)`
 * of `luanest/stream-consumer` for another outcome.
 */
export type PayoutHandler = (payout: Payout) => HandlerResult | Promise<HandlerResult>;

/** A payout run: it calls a handler for payouts in this process. */
export interface PayoutRun {
  /**
   * Stops the run. Waits for running handlers; the options `drainMs` and `abortGraceMs` of StreamConsumerModule limit this time. Other
   * processes handle all other payouts. May be called twice.
   */
  stop(): Promise<void>;
}

/** Numbers of payouts of an activity, for all processes together. */
export interface PayoutStats {
  /** Number of open payouts: they wait for a process, are being paid, or wait for the next attempt. */
  readonly open: number;
  /** Number of dead-lettered payouts. `RedPacketPayouts.deadLetters` lists them. */
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
