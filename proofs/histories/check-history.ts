import { check, type CheckOptions, type Verdict } from './checker/check';
import type { Event, Operation } from './checker/history';
import type { Recorded } from './record/journal';
import { subjectOf } from './subjects';
import type { HistoryPlan } from './subjects/subject';

/**
 * How a history is searched until it is decided: for some seconds, then for up to a minute in each order. Histories that violate a
 * promise need the longest searches, so one that stays undecided fails the run.
 */
const SEARCHES: readonly CheckOptions[] = [
  { configurations: 150_000 },
  { configurations: 1_500_000, likely: 'last' },
  { configurations: 1_500_000 },
];

/** Result of the check of one history. */
export interface Checked {
  /** Operations that were recorded and may have had an effect, or returned something. */
  readonly operations: number;
  /** Of these, operations with an unknown outcome. */
  readonly pending: number;
  readonly verdict: Verdict;
  /** Undefined if no error was found. */
  readonly problem?: string;
}

export function checkHistory(
  plan: HistoryPlan,
  recorded: readonly Recorded[],
  searches: readonly CheckOptions[] = SEARCHES,
): Checked {
  const subject = subjectOf(plan.subject);
  const sent = withLaterCloses(recorded);
  let verdict: Verdict | undefined;
  for (const unseen of subject.unseen ?? [0]) {
    const all = subject.operations(plan, sent, unseen);
    for (const search of searches) {
      verdict = check(subject.model(plan, all), all, search);
      if (verdict.result !== 'unknown') break;
    }
    if (verdict?.result === 'linearizable') break;
  }
  if (verdict === undefined) throw new Error(`The subject ${plan.subject} has no values of unseen operations.`);
  const counted = recorded.filter(({ end }) => end?.how !== 'no effect');
  const pending = counted.filter(({ end }) => end?.how !== 'returned').length;
  const failed = recorded.find(({ end }) => end?.how === 'failed');
  const problem = failed?.end?.how === 'failed' ? `An unexpected error: ${failed.end.error}` : problemOf(verdict);
  return { operations: counted.length, pending, verdict, ...(problem !== undefined && { problem }) };
}

/**
 * Adds to each call whose outcome is unknown how often its connection was closed after it had ended: each time, ioredis may have sent it
 * again.
 */
function withLaterCloses(recorded: readonly Recorded[]): Recorded[] {
  return recorded.map((one) => {
    const { end, client } = one;
    if (end?.how !== 'unknown') return one;
    const later = recorded.filter((other) => connectionOf(other.client) === connectionOf(client));
    const closes = later.reduce((sum, { end: last }) => sum + ((last?.at ?? 0) > end.at ? (last?.closes ?? 0) : 0), 0);
    return { ...one, end: { ...end, closes: end.closes + closes } };
  });
}

/** Returns process and place of a client: after an unknown outcome, another client takes its place. */
function connectionOf(client: string): string {
  return client.split('.', 2).join('.');
}

function problemOf(verdict: Verdict): string | undefined {
  if (verdict.result === 'unknown') return 'The search ended at its bound, so the history is undecided.';
  if (verdict.result === 'linearizable') return undefined;
  const last = verdict.prefix.at(-1)?.operation;
  return `No order of the operations explains what ${last?.id} returned.`;
}

/** Returns the events of a history as lines: time, call or return, operation, input and output. */
export function linesOf(events: readonly Event[]): string[] {
  const start = events[0]?.at ?? 0;
  return events.map(({ at, kind, operation }) => {
    const time = `${(at - start).toFixed(2).padStart(9)} ms`;
    return kind === 'call'
      ? `${time}  ${operation.id} calls ${JSON.stringify(operation.input)}${pendingText(operation)}`
      : `${time}  ${operation.id} returns ${JSON.stringify(operation.output)}`;
  });
}

function pendingText({ return: end, optional }: Operation): string {
  if (end === Infinity) return ' (it never returns)';
  return optional === true ? ' (it may have had no effect)' : '';
}
