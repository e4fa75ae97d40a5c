import type { ScriptRegistry } from 'luanest/script-registry';
import { time } from '../../../internal/src';
import { UnknownTaskError } from '../delayed-task.errors';
import { events, type DelayedTaskEvents } from '../delayed-task.events';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { acknowledgeTasks, completeTask, deferTasks, failTask } from './worker.scripts';
import { pairsOf, type Attempt, type Attempts } from './running-attempts';
import { messageOf, type Failure } from './attempt-failure';
import { delayAfter } from './backoff';
import { Batches } from './batches';
import type { TaskLog } from './task-log';
import type { WorkerState } from './worker-state';

type Outcome = DelayedTaskEvents['attemptSettled']['outcome'];

/** Outcomes by the code that the script `defer` returns. */
const DEFERRED: readonly Outcome[] = ['lost', 'unknown', 'dead'];

/**
 * Sends the outcomes of attempts to Redis: successes that store nothing, and tasks without a handler, in batches, others one by one.
 * Each call is repeated until it succeeds or the worker has stopped.
 */
export class Settlements {
  private readonly done = new Batches((partition, batch) => this.state.track(this.acknowledge(partition, batch)));
  private readonly unknown = new Batches((partition, batch) => this.state.track(this.defer(partition, batch)));

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: Pick<ResolvedDelayedTaskOptions, 'queue' | 'unknownTaskMs'>,
    private readonly attempts: Attempts,
    private readonly state: WorkerState,
    private readonly log: TaskLog,
  ) {}

  /** Settles an attempt as done. @param result text to store; undefined to store nothing */
  succeed(attempt: Attempt, result: string | undefined): void {
    if (result === undefined) this.done.add(attempt);
    else this.state.track(this.complete(attempt, result));
  }

  /** Hands back, or after `unknownTaskMs` dead-letters, a task for whose name this process has no handler. */
  handBackUnknown(attempt: Attempt): void {
    this.log.unknown(attempt.name, this.options.unknownTaskMs);
    this.unknown.add(attempt);
  }

  fail(attempt: Attempt, failure: Failure): void {
    this.state.track(this.sendFailure(attempt, failure));
  }

  /** Publishes the outcome of an attempt as an event, and forgets the attempt. */
  settled(attempt: Attempt, outcome: Outcome, error?: unknown): void {
    this.attempts.remove(attempt);
    events.attemptSettled.publish(
      () => ({
        queue: this.options.queue,
        name: attempt.name,
        id: attempt.id,
        attempt: attempt.attempt,
        outcome,
        lateMs: attempt.lateMs,
        durationMs: time.monotonicMs() - attempt.startedAt,
        error,
      }),
      this.registry,
    );
  }

  private async acknowledge({ leased, tasks, runs }: Partition, batch: readonly Attempt[]): Promise<void> {
    const call = { keys: { leased, tasks, runs }, args: { pairs: pairsOf(batch) } };
    const reply = await this.state.untilAnswered('settle', () => this.registry.run(acknowledgeTasks, call));
    if (reply === undefined) return;
    const lost = reply.lost.length > 0 ? new Set(reply.lost) : undefined;
    for (const attempt of batch) this.settled(attempt, lost?.has(attempt.id) ? 'lost' : 'done');
  }

  private async defer({ due, leased, runs, dead, waits }: Partition, batch: readonly Attempt[]): Promise<void> {
    const error = new UnknownTaskError(
      'Workers without a handler for the name of the task handed it back for unknownTaskMs.',
    );
    const args = {
      longestMs: this.options.unknownTaskMs,
      share: 500 + Math.floor(Math.random() * 501),
      error: messageOf(error),
      pairs: pairsOf(batch),
    };
    const call = { keys: { due, leased, runs, dead, waits }, args };
    const codes = await this.state.untilAnswered('settle', () => this.registry.run(deferTasks, call));
    if (codes === undefined) return;
    batch.forEach((attempt, i) => {
      const outcome = DEFERRED[codes[i] ?? 0] as Outcome;
      if (outcome === 'dead') this.log.deadUnknown(attempt, this.options.unknownTaskMs);
      this.settled(attempt, outcome, outcome === 'dead' ? error : undefined);
    });
  }

  private async complete(attempt: Attempt, result: string): Promise<void> {
    const { id, token, record, partition } = attempt;
    const { leased, tasks, runs } = partition;
    const keys = { leased, tasks, runs, result: partition.result(id) };
    const args = { id, token, keepMs: record.keepResultMs, result };
    const done = await this.state.untilAnswered('settle', () => this.registry.run(completeTask, { keys, args }));
    if (done !== undefined) this.settled(attempt, done ? 'done' : 'lost');
  }

  private async sendFailure(attempt: Attempt, { verdict, text, error, note, ...failure }: Failure): Promise<void> {
    const { id, token, record, partition } = attempt;
    const { due, leased, tasks, runs, dead, waits } = partition;
    const delayMs = failure.delayMs ?? delayAfter(attempt.attempt, record.backoff);
    const args = { id, token, delayMs, verdict, error: text };
    const call = { keys: { due, leased, tasks, runs, dead, waits }, args };
    const outcome = await this.state.untilAnswered('settle', () => this.registry.run(failTask, call));
    if (outcome === undefined) return;
    if (outcome === 'dead') this.log.dead(attempt, note ?? { error });
    else if (outcome === 'retried' && note === undefined) this.log.failed(attempt, error, delayMs);
    this.settled(attempt, outcome, error);
  }
}
