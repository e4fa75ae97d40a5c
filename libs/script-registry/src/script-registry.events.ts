import { eventChannels } from '../../internal/src';

/** Scripts were loaded on a node: when the registry started, after a reconnect, or after the node had lost them. */
export interface ScriptsLoadedEvent {
  readonly registry: string;
  /** `host:port` of the node. */
  readonly node: string;
  /** Number of script bodies that were loaded; 0 if the node had all of them, and 0 if loading failed (see `error`). */
  readonly scripts: number;
  /** Set if loading failed; some of the scripts may have been loaded all the same. */
  readonly error?: unknown;
}

/** A node had lost its scripts (it replied NOSCRIPT), and they were loaded again. */
export interface ScriptsHealedEvent {
  readonly registry: string;
  readonly node: string;
  /** Name of the script whose call got NOSCRIPT. */
  readonly script: string;
}

/** A group of calls was sent as one EVALSHA. */
export interface GroupSentEvent {
  readonly registry: string;
  readonly script: string;
  readonly node: string;
  /** Calls in the group, at least 1. */
  readonly calls: number;
  /** Groups of the same script and slot in flight, this one included. */
  readonly inFlight: number;
}

/** A group of calls ended: Redis replied, or the whole group failed. */
export interface GroupEndedEvent {
  readonly registry: string;
  readonly script: string;
  readonly node: string;
  /** Calls in the group, at least 1. */
  readonly calls: number;
  /** Time since the group was sent, ms, including loading of scripts and redirections. */
  readonly durationMs: number;
}

/** A call was made. `CallEndedEvent.call` is this same object. */
export interface CallStartedEvent {
  readonly registry: string;
  readonly script: string;
}

/** A call was resolved or rejected. Published only for calls whose start was published. */
export interface CallEndedEvent {
  /** The event of the call's start. */
  readonly call: CallStartedEvent;
  /** Time since the call was made, ms. */
  readonly durationMs: number;
  /** The error that the caller got; undefined if the caller got a result. */
  readonly error?: unknown;
}

/** A call was rejected. */
export interface CallFailedEvent {
  readonly registry: string;
  readonly script: string;
  /** The error that the caller got. */
  readonly error: unknown;
}

/** Names of the `node:diagnostics_channel` channels that a registry publishes to. No event has a key or an argument. */
export const SCRIPT_REGISTRY_CHANNELS = Object.freeze({
  scriptsLoaded: 'luanest:script-registry:scripts.loaded',
  scriptsHealed: 'luanest:script-registry:scripts.healed',
  groupSent: 'luanest:script-registry:group.sent',
  groupEnded: 'luanest:script-registry:group.ended',
  callStarted: 'luanest:script-registry:call.started',
  callEnded: 'luanest:script-registry:call.ended',
  callFailed: 'luanest:script-registry:call.failed',
});

interface Events {
  scriptsLoaded: ScriptsLoadedEvent;
  scriptsHealed: ScriptsHealedEvent;
  groupSent: GroupSentEvent;
  groupEnded: GroupEndedEvent;
  callStarted: CallStartedEvent;
  callEnded: CallEndedEvent;
  callFailed: CallFailedEvent;
}

/** Channels of this lib by the short names of their events. */
export const events = eventChannels<Events>(SCRIPT_REGISTRY_CHANNELS);

/** Makes a call, and publishes its start and its end. */
export function withCallEvents<R>(registry: string, script: string, make: () => Promise<R>): Promise<R> {
  const call: CallStartedEvent = { registry, script };
  const startedAt = performance.now();
  events.callStarted.publish(() => call);
  const result = make();
  const end = (error?: unknown): void =>
    events.callEnded.publish(() => ({ call, durationMs: performance.now() - startedAt, error }));
  result.then(
    () => end(),
    (error: unknown) => end(error),
  );
  return result;
}
