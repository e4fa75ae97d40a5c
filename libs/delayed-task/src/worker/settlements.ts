import type { ScriptRegistry } from 'luanest/script-registry';
import { type LeaseOwner, type LossCause, LostError, nextTurn, SetupError, time } from '../../../internal/src';
import { Attempt, type Calls, errorText, type Failure, type ResolvedBackoff, type Work } from '../../../worker/src';
import { events, type DelayedTaskEvents } from '../delayed-task.events';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { TaskContext, TaskHandler } from '../delayed-task.types';
import type { Broadcaster } from '../queue/broadcast';
import { MAX_CHUNK } from '../delayed-task.scripts';
import {
  acknowledgeTasks,
  completeTask,
  deferTasks,
  failTask,
  fireSchedule,
  releaseTasks,
  renewTasks,
  storeProgress,
} from './worker.scripts';
import { nextSlot } from '../queue/slots';
import { encodeJson, encodeNote, scheduleIdOf, slotId, type Partition, type TaskRecord } from '../queue/task-codec';
import { named, type TaskLog } from './task-log';

/** The handler for tasks of one name, with the longest time that it may run. */
export interface Handler {
  readonly run: TaskHandler;
  readonly timeoutMs: number;
}

/** Maximum size of the JSON that a handler passes to `reportProgress`, bytes. */
const MAX_PROGRESS_BYTES = 4_096;

interface AttemptStart {
  readonly registry: ScriptRegistry;
  /** Sends the events of attempts to listeners in all processes; undefined without the option `broadcastEvents`. */
  readonly broadcaster?: Broadcaster | undefined;
  readonly id: string;
  readonly attempt: number;
  readonly runAtMs: number;
  readonly lateMs: number;
  readonly token: string;
  readonly partition: Partition;
  readonly record: TaskRecord;
  /** Time at which the call that took the task was sent, by `time.monotonicMs()`. The lease is counted from here. */
  readonly sentAt: number;
  readonly leaseMs: number;
}

/** One attempt to run a task that this worker has taken. The handler gets this object as its TaskContext. */
export class TaskAttempt extends Attempt implements TaskContext {
  readonly id: string;
  readonly attempt: number;
  readonly runAtMs: number;
  readonly lateMs: number;
  handler: Handler | undefined;
  private readonly start: AttemptStart;

  constructor(start: AttemptStart) {
    super(start.sentAt, start.leaseMs);
    this.id = start.id;
    this.attempt = start.attempt;
    this.runAtMs = start.runAtMs;
    this.lateMs = start.lateMs;
    this.start = start;
  }

  lossOf(cause: LossCause): LostError {
    return new LostError(
      cause === 'time'
        ? 'The lease of this task has ended, so another worker may run the task. The handler must stop, and write nothing more.'
        : 'This worker no longer has the task: another worker took it over, it was cancelled or replaced, or Redis lost it. The ' +
            'handler must stop, and write nothing more.',
    );
  }

  async reportProgress(value: unknown): Promise<void> {
    const { id, token, start, handler } = this;
    const json = encodeJson('progress', value, MAX_PROGRESS_BYTES, 'The limit');
    const { runs, progress } = start.partition;
    const keepMs = (handler?.timeoutMs ?? start.leaseMs) + start.record.keepResultMs;
    const call = { keys: { runs, progress: progress(id) }, args: { id, token, keepMs, value: json } };
    if (!(await start.registry.run(storeProgress, call))) throw this.lossOf('redis');
    start.broadcaster?.progressed(this, json);
  }

  get name(): string {
    return this.start.record.name;
  }

  get group(): string | undefined {
    return this.start.record.group;
  }

  get label(): string {
    return this.name;
  }

  get attempts(): number {
    return this.start.record.attempts;
  }

  get backoff(): ResolvedBackoff {
    return this.start.record.backoff;
  }

  get token(): string {
    return this.start.token;
  }

  get partition(): Partition {
    return this.start.partition;
  }

  get record(): TaskRecord {
    return this.start.record;
  }
}

/** Lists tasks in the form for scripts: the id of each task, followed by the token of its lease. */
export function pairsOf(attempts: readonly TaskAttempt[]): string[] {
  return attempts.flatMap(({ id, token }) => [id, token]);
}

/**
 * A task without a handler is dead-lettered if it was first given back more than this time ago, ms. A rolling deploy takes less time.
 * Without the limit, a task whose handler was removed from the app would be taken and given back forever.
 */
const UNKNOWN_MS = 86_400_000;

type Status = DelayedTaskEvents['attemptSettled']['status'];
export type Step = DelayedTaskEvents['callFailed']['during'];

/** Status of a task that was given back because it has no handler. The script `defer` returns the index. */
const DEFERRED: readonly Status[] = ['lost', 'unknown', 'dead'];

/**
 * Calls the handlers of tasks, and stores the results of attempts in Redis. Successes without a result to keep, and tasks without a
 * handler, are sent in batches; other results one by one. Each call is repeated until it succeeds or the worker has stopped.
 */
export class Settlements implements Work<TaskAttempt>, LeaseOwner<TaskAttempt> {
  readonly leases = this;
  readonly maxBatch = MAX_CHUNK;
  private readonly done = new Batches((partition, batch) => this.calls.track(this.acknowledge(partition, batch)));
  private readonly unknown = new Batches((partition, batch) => this.calls.track(this.defer(partition, batch)));

  /** @param forget called when Redis has the result of an attempt, or when there is no result to store */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: Pick<ResolvedDelayedTaskOptions, 'namespace' | 'maxPayloadBytes'>,
    private readonly calls: Calls<Step>,
    private readonly log: TaskLog,
    private readonly forget: (attempt: TaskAttempt) => void,
    private readonly broadcaster?: Broadcaster,
  ) {}

  call(attempt: TaskAttempt): unknown {
    return attempt.handler?.run(JSON.parse(attempt.record.payload), attempt);
  }

  succeed(attempt: TaskAttempt, value: unknown): void {
    if (attempt.record.keepResultMs === 0) this.done.add(attempt);
    else this.calls.track(this.complete(attempt, this.resultOf(attempt, value)));
  }

  fail(attempt: TaskAttempt, failure: Failure): void {
    this.calls.track(this.sendFailure(attempt, failure));
  }

  /**
   * Gives a task back for which this process has no handler. If workers have done this for longer than `UNKNOWN_MS`, the task becomes a
   * dead letter instead.
   */
  handBackUnknown(attempt: TaskAttempt): void {
    this.log.unknown(attempt.name);
    this.unknown.add(attempt);
  }

  /**
   * Creates the task of a schedule that is due, and makes the schedule due at the next time of its rule. If several times were missed, only
   * one task is created for all of them.
   */
  fire(attempt: TaskAttempt, { rule, record }: NonNullable<TaskRecord['schedule']>): void {
    const slotMs = attempt.runAtMs;
    let nextMs: number;
    try {
      nextMs = nextSlot(rule, slotMs + attempt.lateMs);
    } catch (error) {
      // This process cannot load the package cron. Another process may have it, so the schedule is given back.
      this.calls.reportError('settle', error);
      return this.unknown.add(attempt);
    }
    this.calls.track(this.sendFire(attempt, { record, slotMs, nextMs }));
  }

  batchOf({ partition }: TaskAttempt): Partition {
    return partition;
  }

  async renew(batch: readonly TaskAttempt[], deadlineMs: number): Promise<readonly TaskAttempt[]> {
    const [{ partition, leaseMs }] = batch as [TaskAttempt];
    const { leased, runs } = partition;
    const call = { keys: { leased, runs }, args: { leaseMs, pairs: pairsOf(batch) } };
    const renewing = this.registry.run(renewTasks, call, { deadlineMs });
    this.calls.track(renewing);
    const lost = new Set((await renewing).lost);
    return batch.filter((_, at) => lost.has(at));
  }

  renewalFailed(_batch: readonly TaskAttempt[], error: unknown): void {
    this.calls.reportError('renew', error);
  }

  /** Gives tasks back to Redis, without counting their attempts. Never throws. */
  async release(attempts: readonly TaskAttempt[]): Promise<void> {
    const chunks = new Batches((partition, batch) => sent.push(this.releaseBatch(partition, batch)));
    const sent: Promise<void>[] = [];
    for (const attempt of attempts) chunks.add(attempt);
    chunks.flush();
    await Promise.all(sent);
  }

  /**
   * Publishes the result of an attempt as an event, and calls `forget`.
   *
   * @param text text of the error that Redis stores; '' if there is no error
   */
  settled(attempt: TaskAttempt, status: Status, error?: unknown, text = ''): void {
    this.forget(attempt);
    this.broadcaster?.settled(attempt, status, text);
    events.attemptSettled.publish(
      () => ({
        namespace: this.options.namespace,
        name: attempt.name,
        id: attempt.id,
        attempt: attempt.attempt,
        status,
        lateMs: attempt.lateMs,
        durationMs: time.monotonicMs() - attempt.startedAt,
        error,
      }),
      this.registry,
    );
  }

  /** Returns the text to store for the result of a handler. If the result cannot be stored, the text has the reason instead. */
  private resultOf(attempt: TaskAttempt, value: unknown): string {
    if (value === undefined) return '';
    try {
      return encodeJson('result', value, this.options.maxPayloadBytes);
    } catch (error) {
      this.log.resultLost(attempt, error);
      return encodeNote(errorText(error));
    }
  }

  private async releaseBatch({ due, leased, runs, waits }: Partition, batch: readonly TaskAttempt[]): Promise<void> {
    const call = { keys: { due, leased, runs, waits }, args: { pairs: pairsOf(batch) } };
    // If the worker stops before Redis replies, other workers take the tasks when their leases end. A task in its last attempt then becomes a
    // dead letter.
    await this.calls.untilAnswered('release', () => this.registry.run(releaseTasks, call));
  }

  private async acknowledge({ leased, tasks, runs, waits }: Partition, batch: readonly TaskAttempt[]): Promise<void> {
    const call = { keys: { leased, tasks, runs, waits }, args: { pairs: pairsOf(batch) } };
    const reply = await this.calls.untilAnswered('settle', () => this.registry.run(acknowledgeTasks, call));
    if (reply === undefined) return;
    const lost = reply.lost.length > 0 ? new Set(reply.lost) : undefined;
    batch.forEach((attempt, at) => this.settled(attempt, lost?.has(at) ? 'lost' : 'done'));
  }

  private async defer({ due, leased, runs, dead, waits }: Partition, batch: readonly TaskAttempt[]): Promise<void> {
    const error = new SetupError(
      'For a day, only workers without a handler for the name of the task took it. Add the handler to a worker, then replay the task.',
      {
        code: 'UNKNOWN_TASK',
      },
    );
    const args = {
      longestMs: UNKNOWN_MS,
      share: 500 + Math.floor(Math.random() * 501),
      error: errorText(error),
      pairs: pairsOf(batch),
    };
    const call = { keys: { due, leased, runs, dead, waits }, args };
    const codes = await this.calls.untilAnswered('settle', () => this.registry.run(deferTasks, call));
    if (codes === undefined) return;
    batch.forEach((attempt, i) => {
      const status = DEFERRED[codes[i] ?? 0] as Status;
      if (status === 'dead') this.log.deadUnknown(attempt);
      if (status === 'dead') this.settled(attempt, status, error, args.error);
      else this.settled(attempt, status);
    });
  }

  private async complete(attempt: TaskAttempt, result: string): Promise<void> {
    const { id, token, record, partition } = attempt;
    const { leased, tasks, runs, waits } = partition;
    const keys = { leased, tasks, runs, waits, result: partition.result(id) };
    const args = { id, token, keepMs: record.keepResultMs, result };
    const done = await this.calls.untilAnswered('settle', () => this.registry.run(completeTask, { keys, args }));
    if (done !== undefined) this.settled(attempt, done ? 'done' : 'lost');
  }

  private async sendFire(
    attempt: TaskAttempt,
    slot: { readonly record: string; readonly slotMs: number; readonly nextMs: number },
  ): Promise<void> {
    const { id, token, partition } = attempt;
    const { due, leased, tasks, runs, waits, lines, heads } = partition;
    const taskId = slotId(scheduleIdOf(id) ?? id, slot.slotMs);
    const call = { keys: { due, leased, tasks, runs, waits, lines, heads }, args: { id, token, taskId, ...slot } };
    const outcome = await this.calls.untilAnswered('settle', () => this.registry.run(fireSchedule, call));
    if (outcome !== undefined) this.forget(attempt);
  }

  private async sendFailure(attempt: TaskAttempt, { verdict, delayMs, text, error, note }: Failure): Promise<void> {
    const { id, token, partition } = attempt;
    const { due, leased, tasks, runs, dead, waits } = partition;
    const args = { id, token, delayMs, verdict, error: text };
    const call = { keys: { due, leased, tasks, runs, dead, waits }, args };
    const outcome = await this.calls.untilAnswered('settle', () => this.registry.run(failTask, call));
    if (outcome === undefined) return;
    const logged = { named: named(attempt), attempt: attempt.attempt, attempts: attempt.attempts };
    if (outcome === 'dead') this.log.dead(logged, note ?? { error });
    else if (outcome === 'retried' && note === undefined) this.log.failed(logged, error, delayMs);
    this.settled(attempt, outcome, error, text);
  }
}

/**
 * Collects finished attempts per partition, and sends them together at the end of the turn of the event loop, or when 100 have been
 * collected.
 */
class Batches {
  private readonly open = new Map<Partition, TaskAttempt[]>();
  private scheduled = false;

  constructor(private readonly send: (partition: Partition, batch: readonly TaskAttempt[]) => void) {}

  add(attempt: TaskAttempt): void {
    const { partition } = attempt;
    let batch = this.open.get(partition);
    if (batch === undefined) {
      batch = [];
      this.open.set(partition, batch);
    }
    batch.push(attempt);
    if (batch.length >= MAX_CHUNK) {
      this.open.delete(partition);
      this.send(partition, batch);
    } else if (!this.scheduled) {
      this.scheduled = true;
      nextTurn(() => this.flush());
    }
  }

  flush(): void {
    this.scheduled = false;
    const batches = [...this.open];
    this.open.clear();
    for (const [partition, batch] of batches) this.send(partition, batch);
  }
}
