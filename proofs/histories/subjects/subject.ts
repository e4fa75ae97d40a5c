import type { ScriptDefinition } from 'luanest/script-registry';
import type { Model, Operation } from '../checker/history';
import type { Session, Step } from '../record/client';
import type { Connection } from '../record/connection';
import type { Journal, Recorded } from '../record/journal';
import type { Random } from '../record/random';

/** Longest difference between two clocks, and of the rounding of times in ms, ms. */
export const SLACK_MS = 8;
/** Maximum number of sendings of one call that are looked for, besides the last one. */
const MOST_REPEATS = 3;

/** Plan of a history. It is the history of one key: a lock, a subject of a limit, an id, an activity or a task. */
export interface HistoryPlan {
  readonly key: string;
  readonly subject: string;
  /** One of the subject's. */
  readonly flavour: string;
  /** True: ioredis sends calls again whose reply was lost. */
  readonly resend: boolean;
}

export interface BenchContext {
  readonly connection: Connection;
  readonly journal: Journal;
  /** True in a process that also works in the background, such as one that runs tasks. */
  readonly works: boolean;
  readonly resend: boolean;
}

/** The services of one process, on one connection. */
export interface Bench {
  /** Makes what a history needs before its first operation. */
  prepare?(plan: HistoryPlan): Promise<void>;
  session(plan: HistoryPlan, random: Random): Session;
  /** Operations that look at the key when all clients have ended. */
  last(plan: HistoryPlan): readonly Step[];
  close?(): void;
}

/** A part of the package whose histories are recorded and checked. */
export interface Subject {
  readonly name: string;
  readonly flavours: readonly string[];
  readonly scripts: readonly ScriptDefinition[];
  open(context: BenchContext): Promise<Bench> | Bench;
  /**
   * Returns the operations for the model: what was recorded, and what happens without a call, such as the end of a lease.
   *
   * @param unseen how many operations of processes that died there may be, besides those that the history shows
   */
  operations(plan: HistoryPlan, recorded: readonly Recorded[], unseen: number): Operation[];
  /** Values of `unseen` to try, until one explains the history. Default: 0 only. */
  readonly unseen?: readonly number[];
  model(plan: HistoryPlan, operations: readonly Operation[]): Model<unknown>;
}

/** Returns an operation as it was recorded. Undefined if it had no effect, or changes nothing and returned nothing. */
export function operationOf<Op extends Operation>(
  { id, call, input, end }: Recorded,
  isRead: (input: Op['input']) => boolean,
): Op | undefined {
  if (end?.how === 'no effect' || end?.how === 'failed') return undefined;
  if (end?.how === 'returned') return { id, call, return: end.at, input, output: end.output } as Op;
  return isRead(input) ? undefined : ({ id, call, return: Infinity, input } as Op);
}

/**
 * Returns an operation that took effect at a known moment by Redis' clock, which is that of this machine.
 *
 * @param momentMs ms since 1970; undefined if it is not known
 */
export function narrowed<Op extends Operation>(operation: Op, { end }: Recorded, momentMs: number | undefined): Op {
  if (end === undefined || momentMs === undefined) return operation;
  const moment = momentMs + end.at - end.wallMs;
  const call = Math.max(operation.call, moment - SLACK_MS);
  const last = Math.min(operation.return, moment + SLACK_MS);
  // With such a moment, the history is not linearizable, and shows it better as it was recorded.
  return call <= last ? { ...operation, call, return: last } : operation;
}

/** Returns the earlier sendings of a call that may have been sent again: each may have had an effect, too. */
export function earlierSendings<Op extends Operation>(
  plan: HistoryPlan,
  operation: Op,
  { end: ended }: Recorded,
): Op[] {
  if (!plan.resend) return [];
  // A call whose outcome is unknown may also be sent again later.
  const later = operation.return === Infinity ? 1 : 0;
  const count = Math.min(MOST_REPEATS, (ended?.closes ?? 0) + later);
  return Array.from({ length: count }, (_, n) => {
    const { id, call, return: end, input } = operation;
    return { id: `${id}/${n + 1}`, call, return: end, input, optional: true } as Op;
  });
}
