import { eventChannels } from '../../internal/src';

/** Scripts were put on a node, when the registry started, after a reconnect, or by a heal. */
export interface ScriptsLoadedEvent {
  readonly registry: string;
  /** `host:port` of the node. */
  readonly node: string;
  /** How many scripts were loaded; 0 when a check found all of them there. */
  readonly scripts: number;
  /** Set when the node refused some or all of them. */
  readonly error?: Error;
}

/** A node had lost its scripts (NOSCRIPT) and has them again. */
export interface ScriptsHealedEvent {
  readonly registry: string;
  readonly node: string;
  /** Name of the script whose call found out. */
  readonly script: string;
}

/** Calls left as one EVALSHA. */
export interface GroupSentEvent {
  readonly registry: string;
  readonly script: string;
  readonly node: string;
  /** Calls in the group, at least 1. */
  readonly calls: number;
  /** Groups of the same script and slot in flight, this one included. */
  readonly inFlight: number;
}

/** A group was answered, or failed as a whole. */
export interface GroupEndedEvent {
  readonly registry: string;
  readonly script: string;
  readonly node: string;
  /** Calls in the group, at least 1. */
  readonly calls: number;
  /** From when it left, ms; what a heal or a redirection took is part of it. */
  readonly durationMs: number;
}

/** A call was made. The event itself stands for the call: the event of its end has the same object. */
export interface CallStartedEvent {
  readonly registry: string;
  readonly script: string;
}

/** A call was answered or rejected. Calls are told of whose start was told. */
export interface CallEndedEvent {
  readonly call: CallStartedEvent;
  readonly durationMs: number;
  /** What the caller was told; undefined for a result. */
  readonly error: Error | undefined;
}

/** A call was rejected. */
export interface CallFailedEvent {
  readonly registry: string;
  readonly script: string;
  readonly error: Error;
}

/** Names of the `node:diagnostics_channel` channels that a registry publishes to. No event carries keys or arguments. */
export const SCRIPT_REGISTRY_CHANNELS = Object.freeze({
  scriptsLoaded: 'luanest:script-registry:scripts-loaded',
  scriptsHealed: 'luanest:script-registry:scripts-healed',
  groupSent: 'luanest:script-registry:group-sent',
  groupEnded: 'luanest:script-registry:group-ended',
  callStarted: 'luanest:script-registry:call-started',
  callEnded: 'luanest:script-registry:call-ended',
  callFailed: 'luanest:script-registry:call-failed',
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

/** Where this lib tells what happens. */
export const events = eventChannels<Events>(SCRIPT_REGISTRY_CHANNELS);

/** Makes a call and tells of its start and its end. */
export function told<R>(registry: string, script: string, make: () => Promise<R>): Promise<R> {
  const call: CallStartedEvent = { registry, script };
  const startedAt = performance.now();
  events.callStarted.publish(() => call);
  const result = make();
  const end = (error?: Error): void =>
    events.callEnded.publish(() => ({ call, durationMs: performance.now() - startedAt, error }));
  result.then(
    () => end(),
    (error: unknown) => end(error as Error),
  );
  return result;
}
