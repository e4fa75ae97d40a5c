import { eventChannels } from '../../internal/src';

/** Events of this lib. `OnceEvents['claimAnswered']` is the type of an event; the constant `OnceEvents` has the names of their channels. */
export interface OnceEvents {
  /** Redis has replied to a claim. Not published for a claim that was released because too few replicas had it. */
  readonly claimAnswered: {
    /**
     * `claimed`: the caller owns the id. `in-progress`: another owner has the id. `done`: the id is confirmed. `abandoned`: the
     * lease of an at-most-once claim ended without a confirmation. `mismatch`: the idempotency key was used before for a request
     * with other content.
     */
    readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
  };

  /** A call returned `lost`, because its caller does not own the id, or no longer owns it. */
  readonly leaseLost: {
    readonly during: 'renew' | 'confirm' | 'release';
  };

  /** Work has ended, but its result or response cannot be stored. The id is marked as done without a result, unless Redis fails. */
  readonly resultDropped: {
    /**
     * `too-large`: the result or the response has more bytes than `maxResultBytes`. `not-json`: JSON cannot represent the result.
     * `streamed`: the response was sent in pieces, or the client closed the connection before the response ended. `abandoned`: other code,
     * such as a timeout interceptor, replied before the handler ended.
     */
    readonly reason: 'too-large' | 'not-json' | 'streamed' | 'abandoned';
  };

  /**
   * A confirmation or a release failed, and no caller gets the error. This happens for HTTP requests, for work that did not finish, and for
   * claims that nobody uses. Unless Redis has run the call nevertheless, the id stays claimed until its lease ends.
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
