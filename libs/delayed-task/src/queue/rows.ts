/** A task as it comes out of a take. */
export interface TakenTask {
  readonly id: string;
  /** What `schedule` stored. */
  readonly record: string;
  readonly attempt: number;
  /** When this attempt was due, ms by Redis' clock. */
  readonly runAt: number;
}

/** A task that a take buried, because its worker died in its last attempt. */
export interface BuriedTask {
  readonly id: string;
  readonly name: string;
  /** The last one. */
  readonly attempt: number;
}

/** How many of a batch a script did, and the ids of the others. */
export interface BatchAnswer {
  readonly done: number;
  readonly others: readonly string[];
}

/** A dead task as it is stored. */
export interface DeadRow {
  readonly id: string;
  readonly deadAt: number;
  readonly record: string;
  readonly run: string;
}
