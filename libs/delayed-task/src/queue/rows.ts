/** A task as the script `take` returns it. */
export interface TakenTask {
  readonly id: string;
  /** The text that `schedule` stored for the task. RecordReader parses it. */
  readonly record: string;
  readonly attempt: number;
  /** `runAtMs` of the TaskContext, ms by Redis' clock. */
  readonly runAtMs: number;
}

/** A task that a take dead-lettered, because its lease ended in the last attempt. */
export interface BuriedTask {
  readonly id: string;
  readonly name: string;
  /** Number of the last attempt. */
  readonly attempt: number;
}

/** Result of a script for a batch of leased tasks. */
export interface BatchReply {
  readonly done: number;
  /** Ids of the tasks that the script left alone, because they are gone or no longer leased to this worker. */
  readonly lost: readonly string[];
}

/** A dead letter as Redis stores it; `record` and `run` are not parsed. */
export interface DeadRow {
  readonly id: string;
  readonly deadAtMs: number;
  readonly record: string;
  readonly run: string;
}
