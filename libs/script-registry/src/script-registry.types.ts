/** Options of one call. */
export interface RunOptions {
  /** Longest time from the call to the reply, ms; integer >= 1. Default: `deadlineMs` of ScriptRegistryModule. */
  readonly deadlineMs?: number;
  /**
   * When the deadline began, by `performance.now()`, ms. Libs of luanest set it if several calls share one deadline. Default: the time
   * of the call.
   */
  readonly startedAtMs?: number;
}

/** Options of a call that waits for replicas. */
export interface RunAndWaitOptions extends RunOptions {
  /** Number of replicas that should have the script's writes; integer >= 1. */
  readonly replicas: number;
  /** Longest time to wait for the replicas, ms; integer >= 1. Must be less than the call's `deadlineMs`. */
  readonly timeoutMs: number;
}

/** Result of `runAndWait`. */
export interface WaitedResult<R> {
  /** Result of the script. */
  readonly result: R;
  /**
   * Number of replicas that acknowledged the script's writes within `timeoutMs`. If the number is lower than `replicas` of the options,
   * the script ran nevertheless, but a failover may lose its writes. 0 if WAIT failed, or if WAIT was not sent because a Cluster
   * redirected the call to another node.
   */
  readonly replicas: number;
}

/** Result of a health check of all nodes. */
export interface ScriptHealth {
  /** True if every node is ready, has all scripts, and allows the Redis user to run them. */
  readonly healthy: boolean;
  /** One line for each problem that was found; empty if healthy. */
  readonly problems: readonly string[];
}
