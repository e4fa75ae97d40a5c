/** Options of one call. */
export interface RunOptions {
  /** How long the call may take, ms; integer >= 1. Default: the registry's `deadlineMs`. */
  readonly deadlineMs?: number;
  /** When the deadline began to run, by `performance.now()`. Default: now. */
  readonly since?: number;
}

/** Options of a call that waits for replicas. */
export interface RunAndWaitOptions extends RunOptions {
  /** Replicas that should have the write; integer >= 1. */
  readonly replicas: number;
  /** How long to wait for them, ms; integer >= 1. Should be below the call's deadline. */
  readonly timeoutMs: number;
}

/** The result of a script, and how many replicas had acknowledged the write when WAIT ended. */
export interface WaitedResult<R> {
  readonly result: R;
  /** Fewer than asked for means that the write may be lost in a failover; the script ran all the same. */
  readonly replicas: number;
}

/** Whether every node has every script. */
export interface ScriptHealth {
  readonly healthy: boolean;
  /** What is wrong, a line per node; empty when healthy. */
  readonly problems: readonly string[];
}
