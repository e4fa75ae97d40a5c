import { eventChannels } from '../../internal/src';

/** Redis answered a claim. */
export interface ClaimAnsweredEvent {
  /**
   * `claimed`: the caller owns the id. `in-progress`: another owner has it. `done`: it is confirmed. `abandoned`: the lease of
   * an at-most-once claim ended without a confirmation. `mismatch`: the key of a request was used with other content.
   */
  readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
}

/** A call of an owner failed, because its lease ended or another owner has the id. */
export interface LeaseLostEvent {
  /** The call that failed. */
  readonly during: 'renew' | 'confirm' | 'release';
}

/** Work was done, but its result or response could not be stored; the id is done without one. */
export interface ResultDroppedEvent {
  /**
   * `too-large`: it has more bytes than `maxResultBytes` or `maxStoredBytes`. `not-json`: JSON cannot represent it.
   * `streamed`: the response was sent in pieces. `abandoned`: code outside, such as a timeout, sent a response before the
   * handler ended.
   */
  readonly reason: 'too-large' | 'not-json' | 'streamed' | 'abandoned';
}

/** Work ended, but its claim could not be confirmed or released in Redis. Unless the call took effect, the claim stays until its lease ends. */
export interface SettlementFailedEvent {
  /** Error of the confirmation or the release. */
  readonly error: unknown;
}

/** Names of this lib's channels on `node:diagnostics_channel`. No event carries an id, a token, a key or a result. */
export const ONCE_CHANNELS = Object.freeze({
  claimAnswered: 'luanest:once:claim.answered',
  leaseLost: 'luanest:once:lease.lost',
  resultDropped: 'luanest:once:result.dropped',
  settlementFailed: 'luanest:once:settlement.failed',
});

interface Events {
  claimAnswered: ClaimAnsweredEvent;
  leaseLost: LeaseLostEvent;
  resultDropped: ResultDroppedEvent;
  settlementFailed: SettlementFailedEvent;
}

/** Publishes the events of this lib. */
export const events = eventChannels<Events>(ONCE_CHANNELS);
