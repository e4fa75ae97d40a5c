import type { ScriptRegistry } from 'luanest/script-registry';
import { isIntegerOf } from '../../../script-registry/src/shared/checks';
import { DeadLetterTaskError, RetryTaskError } from '../delayed-task.errors';
import { events, type TaskSettledEvent } from '../delayed-task.events';
import { MAX_DURATION_MS } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { acknowledgeTasks, completeTask, failTask } from './worker.scripts';
import type { Attempt, Attempts } from './attempt';
import { delayAfter } from './backoff';
import type { WorkerState } from './worker-state';

/** Most tasks that are acknowledged at once. */
const BATCH = 100;
const MAX_ERROR_CHARS = 1_000;

type Outcome = TaskSettledEvent['outcome'];

/** Tells Redis what became of attempts: acknowledgements in batches, failures one by one, each until it is answered. */
export class Settlements {
  private readonly done = new Map<Partition, Attempt[]>();
  private scheduled = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly queue: string,
    private readonly attempts: Attempts,
    private readonly state: WorkerState,
  ) {}

  /** The task is done. @param result JSON to keep; undefined to keep nothing */
  succeed(attempt: Attempt, result: string | undefined): void {
    if (result !== undefined) {
      this.state.track(this.complete(attempt, result));
      return;
    }
    const { partition } = attempt;
    let batch = this.done.get(partition);
    if (batch === undefined) {
      batch = [];
      this.done.set(partition, batch);
    }
    batch.push(attempt);
    if (batch.length >= BATCH) this.flush(partition);
    else if (!this.scheduled) {
      this.scheduled = true;
      setImmediate(() => this.flushAll());
    }
  }

  /** The attempt failed. */
  fail(attempt: Attempt, error: unknown): void {
    this.state.track(this.tellFailure(attempt, error));
  }

  /** Says what became of an attempt, and forgets it. */
  settled(attempt: Attempt, outcome: Outcome, error?: unknown): void {
    this.attempts.remove(attempt);
    events.settled.publish(() => ({
      queue: this.queue,
      name: attempt.name,
      id: attempt.id,
      attempt: attempt.attempt,
      outcome,
      lateMs: attempt.lateMs,
      durationMs: performance.now() - attempt.startedAt,
      error,
    }));
  }

  private flushAll(): void {
    this.scheduled = false;
    for (const [partition, batch] of this.done) if (batch.length > 0) this.flush(partition);
  }

  private flush(partition: Partition): void {
    const batch = this.done.get(partition) ?? [];
    this.done.delete(partition);
    this.state.track(this.acknowledge(partition, batch));
  }

  private async acknowledge({ leased, tasks, runs }: Partition, batch: readonly Attempt[]): Promise<void> {
    const pairs: string[] = [];
    for (const { id, token } of batch) pairs.push(id, token);
    const ask = { keys: { leased, tasks, runs }, args: { pairs } };
    const answer = await this.state.insist('settle', () => this.registry.run(acknowledgeTasks, ask));
    if (answer === undefined) return;
    const others = answer.others.length > 0 ? new Set(answer.others) : undefined;
    for (const attempt of batch) this.settled(attempt, others?.has(attempt.id) ? 'lost' : 'done');
  }

  private async complete(attempt: Attempt, result: string): Promise<void> {
    const { id, token, record, partition } = attempt;
    const { leased, tasks, runs } = partition;
    const keys = { leased, tasks, runs, result: partition.result(id) };
    const args = { id, token, keepMs: record.keepResultMs, result };
    const done = await this.state.insist('settle', () => this.registry.run(completeTask, { keys, args }));
    if (done !== undefined) this.settled(attempt, done ? 'done' : 'lost');
  }

  private async tellFailure(attempt: Attempt, error: unknown): Promise<void> {
    const { id, token, record, partition } = attempt;
    const { due, leased, tasks, runs, dead, waits } = partition;
    const args = {
      id,
      token,
      delayMs: delayOf(error) ?? delayAfter(attempt.attempt, record.backoff),
      bury: error instanceof DeadLetterTaskError ? 1 : 0,
      error: messageOf(error),
    };
    const ask = { keys: { due, leased, tasks, runs, dead, waits }, args };
    const outcome = await this.state.insist('settle', () => this.registry.run(failTask, ask));
    if (outcome !== undefined) this.settled(attempt, outcome, error);
  }
}

function delayOf(error: unknown): number | undefined {
  if (!(error instanceof RetryTaskError)) return undefined;
  const { delayMs } = error;
  return isIntegerOf(delayMs, 0, MAX_DURATION_MS) ? delayMs : undefined;
}

/** What a dead letter says; whatever was thrown. */
function messageOf(error: unknown): string {
  let text: string;
  try {
    text = error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
  } catch {
    text = 'thrown: something that cannot be shown';
  }
  return text.slice(0, MAX_ERROR_CHARS).toWellFormed();
}
