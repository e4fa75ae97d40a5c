import { channel } from 'node:diagnostics_channel';

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
  callFailed: 'luanest:script-registry:call-failed',
});

const channels = {
  scriptsLoaded: channel(SCRIPT_REGISTRY_CHANNELS.scriptsLoaded),
  scriptsHealed: channel(SCRIPT_REGISTRY_CHANNELS.scriptsHealed),
  groupSent: channel(SCRIPT_REGISTRY_CHANNELS.groupSent),
  callFailed: channel(SCRIPT_REGISTRY_CHANNELS.callFailed),
};

interface Events {
  scriptsLoaded: ScriptsLoadedEvent;
  scriptsHealed: ScriptsHealedEvent;
  groupSent: GroupSentEvent;
  callFailed: CallFailedEvent;
}

/** Publishes an event; `make` runs only when someone listens. */
export function publish<E extends keyof Events>(event: E, make: () => Events[E]): void {
  if (channels[event].hasSubscribers) channels[event].publish(make());
}
