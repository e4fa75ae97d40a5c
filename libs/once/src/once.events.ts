import { eventChannels } from '../../internal/src';

/** A claim was answered. */
export interface ClaimAnsweredEvent {
  readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
}

/** An owner found that its lease is over, or that another owns the id. */
export interface LeaseLostEvent {
  readonly during: 'renew' | 'confirm' | 'release';
}

/** Work was done whose result or response could not be stored; the id is done without one. */
export interface ResultDroppedEvent {
  /** `abandoned`: somebody outside, such as a timeout, had answered before the handler did. */
  readonly reason: 'too-large' | 'not-json' | 'streamed' | 'abandoned';
}

/** Work was done or failed, and Redis could not be told; the claim stays until its lease ends. */
export interface SettlementFailedEvent {
  readonly error: unknown;
}

/** Names of the `node:diagnostics_channel` channels of this lib. No event carries an id, a token, a key or a result. */
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

/** Where this lib tells what happens. */
export const events = eventChannels<Events>(ONCE_CHANNELS);
