import { eventChannels } from '../../internal/src';

/** Type of each event of this lib: `OnceEvents['claimAnswered']`, for example. The constant OnceEvents names the channels. */
export interface OnceEvents {
  /**
   * Event of each claim to which Redis replied in time. Claims that were released because too few replicas had them are left out.
   */
  readonly claimAnswered: {
    /**
     * `claimed`: the caller owns the id. `in-progress`: another owner has the id. `done`: the id is confirmed. `abandoned`: the
     * lease of an at-most-once claim ended without a confirmation. `mismatch`: the idempotency key was used before for a request
     * with other content.
     */
    readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
  };

  /** Event of a call that returned `lost`, because the caller does not own the id, or no longer owns it. */
  readonly leaseLost: {
    readonly during: 'renew' | 'confirm' | 'release';
  };

  /**
   * Event of work that has ended, but whose result or response cannot be stored. The id of the work is marked as done without a
   * result, unless Redis fails.
   */
  readonly resultDropped: {
    /**
     * `too-large`: the result or the response has more bytes than `maxResultBytes`. `not-json`: JSON cannot represent the result.
     * `streamed`: the response was sent in pieces, or the client left before it was sent. `abandoned`: other code, such as a
     * timeout interceptor, sent a response before the handler ended.
     */
    readonly reason: 'too-large' | 'not-json' | 'streamed' | 'abandoned';
  };

  /**
   * Event of a failed confirmation or release whose error no caller gets. It belongs to a request, to work that was not finished,
   * or to a claim that no caller uses. Unless the call took effect in Redis anyway, the id stays claimed until the lease ends.
   */
  readonly settlementFailed: {
    readonly error: unknown;
  };
}

/**
 * Names of the `node:diagnostics_channel` channels of this lib: `OnceEvents.leaseLost`, for example. No event has a field for an id, a
 * token, a key or a result.
 */
export const OnceEvents = Object.freeze({
  claimAnswered: 'luanest:once:claim.answered',
  leaseLost: 'luanest:once:lease.lost',
  resultDropped: 'luanest:once:result.dropped',
  settlementFailed: 'luanest:once:settlement.failed',
});

export const events = eventChannels<OnceEvents>(OnceEvents);
