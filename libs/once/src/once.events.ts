import { channel } from 'node:diagnostics_channel';

/** A claim was answered. */
export interface ClaimAnsweredEvent {
  readonly status: 'claimed' | 'in-progress' | 'done' | 'abandoned' | 'mismatch';
}

/** An owner found that its lease is over, or that another owns the id. */
export interface LeaseLostEvent {
  readonly during: 'renew' | 'confirm' | 'release';
}

/** Work was done whose result or response could not be stored; the id is done without one. */
export interface ResultNotStoredEvent {
  /** `abandoned`: somebody outside, such as a timeout, had answered before the handler did. */
  readonly reason: 'too-large' | 'not-json' | 'streamed' | 'abandoned';
}

/** Work was done or failed, and Redis could not be told; the claim stays until its lease ends. */
export interface SettleFailedEvent {
  readonly error: unknown;
}

/** Names of the `node:diagnostics_channel` channels of this lib. No event carries an id, a token, a key or a result. */
export const ONCE_CHANNELS = Object.freeze({
  claimAnswered: 'luanest:once:claim-answered',
  leaseLost: 'luanest:once:lease-lost',
  resultNotStored: 'luanest:once:result-not-stored',
  settleFailed: 'luanest:once:settle-failed',
});

const channels = {
  claimAnswered: channel(ONCE_CHANNELS.claimAnswered),
  leaseLost: channel(ONCE_CHANNELS.leaseLost),
  resultNotStored: channel(ONCE_CHANNELS.resultNotStored),
  settleFailed: channel(ONCE_CHANNELS.settleFailed),
};

interface Events {
  claimAnswered: ClaimAnsweredEvent;
  leaseLost: LeaseLostEvent;
  resultNotStored: ResultNotStoredEvent;
  settleFailed: SettleFailedEvent;
}

/** Whether someone listens to an event, so that the way to it need not be gone in vain. */
export function isHeard(event: keyof Events): boolean {
  return channels[event].hasSubscribers;
}

/** Publishes an event; `make` runs only when someone listens. */
export function publish<E extends keyof Events>(event: E, make: () => Events[E]): void {
  if (channels[event].hasSubscribers) channels[event].publish(make());
}
