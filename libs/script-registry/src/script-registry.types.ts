/** Options of one call. */
export interface RunOptions {
  /** Longest time until the reply, ms; integer >= 1. Default: the registry's `deadlineMs`. */
  readonly deadlineMs?: number;
  /** Reading of `performance.now()` from which `deadlineMs` is counted, ms. Default: the time of the call. */
  readonly startedAtMs?: number;
}

/** Options of a call that waits for replicas. */
export interface RunAndWaitOptions extends RunOptions {
  /** Replicas that should have the write; integer >= 1. */
  readonly replicas: number;
  /** How long to wait for them, ms; integer >= 1. Must be less than the call's deadline. */
  readonly timeoutMs: number;
}

/** The result of a script, and the number of replicas that had acknowledged the write when WAIT ended. */
export interface WaitedResult<R> {
  readonly result: R;
  /** If it is less than was asked for, a failover may lose the write. The script ran in any case. */
  readonly replicas: number;
}

/** Result of a health check of all nodes. */
export interface ScriptHealth {
  /** True if every node is connected, has all scripts and lets this user run them. */
  readonly healthy: boolean;
  /** One line for each node with a problem; empty if healthy. */
  readonly problems: readonly string[];
}
