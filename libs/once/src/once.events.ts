import { eventChannels } from '../../internal/src';

/** Type of each event of this lib, by its key in ONCE_CHANNELS: `OnceEvents['claimAnswered']`, for example. */
export interface OnceEvents {
  /** Event of each reply of Redis to a claim. */
  readonly claimAnswered: {
    /**
     * `claimed`: the caller owns the id. `in-progress`: another owner has the id. `done`: the id is confirmed. `abandoned`: the
     * lease of an at-most-once claim ended without a confirmation. `mismatch`: the key of a request was used with other content.
     */
    readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
  };

  /** Event of a call that returned `lost`, because the lease of the caller has ended or another owner has the id. */
  readonly leaseLost: {
    /** Call that returned `lost`. */
    readonly during: 'renew' | 'confirm' | 'release';
  };

  /** Event of work whose result or response could not be stored. The id is done, but without a result. */
  readonly resultDropped: {
    /**
     * `too-large`: the result has more bytes than `maxResultBytes`, or the response more than `maxStoredBytes`. `not-json`: JSON
     * cannot represent the result.
     * `streamed`: the response was sent in pieces. `abandoned`: code outside, such as a timeout, sent a response before the
     * handler ended.
     */
    readonly reason: 'too-large' | 'not-json' | 'streamed' | 'abandoned';
  };

  /**
   * Event of a claim that could not be confirmed or released in Redis when its work had ended. Unless the call took effect in
   * Redis, the id stays claimed until the lease ends.
   */
  readonly settlementFailed: {
    /** Error of the confirmation or the release. */
    readonly error: unknown;
  };
}

/** Names of this lib's channels on `node:diagnostics_channel`. No event carries an id, a token, a key or a result. */
export const ONCE_CHANNELS = Object.freeze({
  claimAnswered: 'luanest:once:claim.answered',
  leaseLost: 'luanest:once:lease.lost',
  resultDropped: 'luanest:once:result.dropped',
  settlementFailed: 'luanest:once:settlement.failed',
});

/** Publishes the events of this lib. */
export const events = eventChannels<OnceEvents>(ONCE_CHANNELS);
