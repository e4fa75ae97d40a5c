import type { DeadLetter, HandlerResult } from 'luanest/stream-consumer';
import type { Grant } from '../red-packet.types';

/** A packet to pay: `amountCents` to `userId`. Within one `activityKey`, pay each packet and each user at most once. */
export interface Payout extends Grant {
  readonly activityId: string;
  /**
   * Key of this activity, `<activityId, percent-encoded>@<expiresAtMs>`. If your app uses the id again after this activity has expired, the
   * new activity has another key. `RedPacketService.status` returns the same key. In your ledger, record payouts
   * under this key, not under the id, unless you never use an id again.
   */
  readonly activityKey: string;
  /**
   * `<activityKey>:<packetId>` in visible ASCII, the same for each attempt, for use as the idempotency key of a payment service. After a
   * failover, the same packet may be granted to another user, so the service must refuse a known key with another user.
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
 * Pays one payout. It counts as paid if the handler returns nothing. The attempt has failed if the handler throws an error. For another
 * attempt or none, return or throw `retryLater({ delayMs })` or `deadLetter(reason)` of `luanest/stream-consumer`.
 */
export type PayoutHandler = (payout: Payout) => HandlerResult | Promise<HandlerResult>;

/** A payout run: it calls a handler for payouts in this process. */
export interface PayoutRun {
  /**
   * Stops calling the handler. Waits for running calls, as `drainMs` and `abortGraceMs` of StreamConsumerModule allow. Other processes take
   * over the remaining payouts. May be called twice.
   */
  stop(): Promise<void>;
}

/** Numbers of payouts of an activity, for all processes together. */
export interface PayoutStats {
  /** Number of open payouts: they wait, are being paid, or will be tried again. */
  readonly open: number;
  /** Number of dead-lettered payouts. `RedPacketPayouts.deadLetters` lists them. */
  readonly deadLetters: number;
}

/**
 * A dead-lettered payout: no handler is called for it until it is replayed. `payload` is the packet with its winner; undefined if another
 * program has changed the dead letter.
 */
export type PayoutDeadLetter = Pick<
  DeadLetter<Grant | undefined>,
  'id' | 'payload' | 'error' | 'attemptsMade' | 'deadAtMs' | 'firstSeenAtMs'
>;
