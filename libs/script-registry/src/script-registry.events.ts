import { eventChannels } from '../../internal/src';

/**
 * Events of this lib. `ScriptRegistryEvents['scriptsLoaded']` is the type of an event;
 * the constant `ScriptRegistryEvents` has the names of their channels.
 */
export interface ScriptRegistryEvents {
  /** ScriptRegistry has loaded scripts on a node, has failed to do so, or has found that the node has all scripts already. */
  readonly scriptsLoaded: {
    readonly registry: string;
    /** `host:port` of the node, or the path of its socket. */
    readonly node: string;
    /** Number of scripts that were loaded. 0 if the node had all scripts already, or if loading failed (see `error`). */
    readonly scripts: number;
    /** The error if loading failed. Some of the scripts may be loaded nevertheless. */
    readonly error?: unknown;
  };

  /** A node replied NOSCRIPT to a call, because it lacked scripts. ScriptRegistry then loaded the scripts. */
  readonly scriptsHealed: {
    readonly registry: string;
    /** `host:port` of the node, or the path of its socket. `routed by the client` if the Redis client chose the node. */
    readonly node: string;
    /** Name of the script whose call got NOSCRIPT. */
    readonly script: string;
  };

  /** ScriptRegistry has sent a group: one or more calls of one script in one command. A call that was sent alone is a group of one. */
  readonly groupSent: {
    readonly registry: string;
    readonly script: string;
    readonly node: string;
    /** Number of calls in the group, at least 1. */
    readonly calls: number;
    /**
     * Number of groups of the same script that are in flight, including this one. On a Cluster, only groups of the same hash slot count.
     * Groups of `runAndWait` are counted separately for each pair of `replicas` and `timeoutMs`.
     */
    readonly inFlight: number;
  };

  /** A group has ended: each of its calls has a result or an error. */
  readonly groupEnded: {
    readonly registry: string;
    readonly script: string;
    readonly node: string;
    /** Number of calls in the group, at least 1. */
    readonly calls: number;
    /** Time since the group was sent, ms, including the time to load missing scripts and to follow redirections. */
    readonly durationMs: number;
  };

  /** A call of `run` or `runAndWait` has begun. Its event `callEnded` has this object in the field `call`. */
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
   * A call was rejected because it failed in Redis, could not be sent, or reached its deadline. Not published if a call is rejected at
   * once: its parameters are invalid, its script is not registered, or ScriptRegistry is closed.
   */
  readonly callFailed: {
    readonly registry: string;
    readonly script: string;
    /** The error that the caller got. */
    readonly error: unknown;
  };
}

/**
 * Names of the `node:diagnostics_channel` channels that ScriptRegistry publishes to: `ScriptRegistryEvents.callFailed`, for example.
 * No event has keys or arguments, but the message of an `error` may quote them.
 */
export const ScriptRegistryEvents = Object.freeze({
  scriptsLoaded: 'luanest:script-registry:scripts.loaded',
  scriptsHealed: 'luanest:script-registry:scripts.healed',
  groupSent: 'luanest:script-registry:group.sent',
  groupEnded: 'luanest:script-registry:group.ended',
  callStarted: 'luanest:script-registry:call.started',
  callEnded: 'luanest:script-registry:call.ended',
  callFailed: 'luanest:script-registry:call.failed',
});

export const events = eventChannels<ScriptRegistryEvents>(ScriptRegistryEvents);

/** Runs a script by calling `make`, and publishes the start and the end of this call as events. */
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
