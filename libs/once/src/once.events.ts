import { eventChannels } from '../../internal/src';

/** Type of each event of this lib, by its key in ONCE_CHANNELS: `OnceEvents['claimAnswered']`, for example. */
export interface OnceEvents {
  /** Event of each claim whose reply arrived in time, except claims that were released because too few replicas had them. */
  readonly claimAnswered: {
    /**
     * `claimed`: the caller owns the id. `in-progress`: another owner has the id. `done`: the id is confirmed. `abandoned`: the
     * lease of an at-most-once claim ended without a confirmation. `mismatch`: the key of a request was used with another request.
     */
    readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
  };

  /** Event of a call that returned `lost`, because the caller does not own the id, or no longer owns it. */
  readonly leaseLost: {
    readonly during: 'renew' | 'confirm' | 'release';
  };

  /** Event of work whose result or response cannot be stored. Its id is marked as done without a result, unless Redis fails. */
  readonly resultDropped: {
    /**
     * `too-large`: the result or the response has more bytes than `maxResultBytes`. `not-json`: JSON
     * cannot represent the result.
     * `streamed`: the response was sent in pieces, or the client left before it was sent. `abandoned`: code outside, such as a
     * timeout, sent a response before the handler ended.
     */
    readonly reason: 'too-large' | 'not-json' | 'streamed' | 'abandoned';
  };

  /**
   * Event of a confirmation or a release that failed, and whose error no caller gets: of a request, of unfinished work, or of a
   * claim that no caller uses. Unless the call took effect in Redis, the id stays claimed until the lease ends.
   */
  readonly settlementFailed: {
    readonly error: unknown;
  };
}

/** Names of this lib's channels on `node:diagnostics_channel`. No event has a field for an id, a token, a key or a result. */
export const ONCE_CHANNELS = Object.freeze({
  claimAnswered: 'luanest:once:claim.answered',
  leaseLost: 'luanest:once:lease.lost',
  resultDropped: 'luanest:once:result.dropped',
  settlementFailed: 'luanest:once:settlement.failed',
});

export const events = eventChannels<OnceEvents>(ONCE_CHANNELS);
