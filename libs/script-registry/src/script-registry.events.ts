import { eventChannels } from '../../internal/src';

/** Type of each event of this lib, by its key in SCRIPT_REGISTRY_CHANNELS: `ScriptRegistryEvents['scriptsLoaded']`, for example. */
export interface ScriptRegistryEvents {
  /** ScriptRegistry has finished loading scripts on a node, or checking that the node has them, with or without success. */
  readonly scriptsLoaded: {
    readonly registry: string;
    /** `host:port` of the node, or the path of its socket. */
    readonly node: string;
    /** Number of script bodies that the node loaded. 0 if it lacked none, or if loading failed (see `error`). */
    readonly scripts: number;
    /** The error if loading failed; some of the scripts may be loaded nevertheless. */
    readonly error?: unknown;
  };

  /** A node lacked scripts: it replied NOSCRIPT to a call, and then the scripts were loaded. */
  readonly scriptsHealed: {
    readonly registry: string;
    /**
     * `host:port` of the node, or the path of its socket; `routed by the client` if the call was sent through the client's own
     * routing, so that the node is unknown.
     */
    readonly node: string;
    /** Name of the script whose call got NOSCRIPT. */
    readonly script: string;
  };

  /** Calls of one script are sent together, first as one EVALSHA. A call that is sent alone is a group of one. */
  readonly groupSent: {
    readonly registry: string;
    readonly script: string;
    readonly node: string;
    /** Calls in the group, at least 1. */
    readonly calls: number;
    /**
     * Groups in flight of the same script, this one included; on a Cluster of the same slot. Groups of `runAndWait` are counted
     * apart, for each `replicas` and `timeoutMs`.
     */
    readonly inFlight: number;
  };

  /** A group ended: each of its calls has a result or an error. */
  readonly groupEnded: {
    readonly registry: string;
    readonly script: string;
    readonly node: string;
    /** Calls in the group, at least 1. */
    readonly calls: number;
    /** Time since the group was sent, ms, including the time to load missing scripts and to follow redirections. */
    readonly durationMs: number;
  };

  /** A call of `run` or `runAndWait` began. The `call` of its `callEnded` event is this same object. */
  readonly callStarted: {
    readonly registry: string;
    readonly script: string;
  };

  /**
   * A call of `run` or `runAndWait` was resolved or rejected. Published only if this channel or `callStarted` had a subscriber
   * when the call was made.
   */
  readonly callEnded: {
    /** The `callStarted` event of this call. It is the same object. */
    readonly call: ScriptRegistryEvents['callStarted'];
    /** Time since the call was made, ms. */
    readonly durationMs: number;
    /** The error that the caller got; undefined if the caller got a result. */
    readonly error?: unknown;
  };

  /**
   * A call was rejected after it was accepted. Not published for calls with invalid parameters, without a registered script or on
   * a closed ScriptRegistry.
   */
  readonly callFailed: {
    readonly registry: string;
    readonly script: string;
    /** The error that the caller got. */
    readonly error: unknown;
  };
}

/**
 * Names of the `node:diagnostics_channel` channels that ScriptRegistry publishes to. No event has keys or arguments, but the
 * message of an `error` may quote them.
 */
export const SCRIPT_REGISTRY_CHANNELS = Object.freeze({
  scriptsLoaded: 'luanest:script-registry:scripts.loaded',
  scriptsHealed: 'luanest:script-registry:scripts.healed',
  groupSent: 'luanest:script-registry:group.sent',
  groupEnded: 'luanest:script-registry:group.ended',
  callStarted: 'luanest:script-registry:call.started',
  callEnded: 'luanest:script-registry:call.ended',
  callFailed: 'luanest:script-registry:call.failed',
});

export const events = eventChannels<ScriptRegistryEvents>(SCRIPT_REGISTRY_CHANNELS);

/** Makes a call, and publishes its start and its end. */
export function withCallEvents<R>(registry: string, script: string, make: () => Promise<R>): Promise<R> {
  const call: ScriptRegistryEvents['callStarted'] = { registry, script };
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
