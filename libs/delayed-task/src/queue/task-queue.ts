import type { ScriptRegistry } from 'luanest/script-registry';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import {
  MAX_CHUNK,
  cancelTask,
  countTasks,
  getTask,
  noteLayout,
  pauseGroup,
  pauseQueue,
  rescheduleTask,
  scheduleTask,
  scheduleTasks,
} from '../delayed-task.scripts';
import type {
  CancelResult,
  ConflictOptions,
  DueTime,
  NewTask,
  PreparedTask,
  QueueStats,
  RescheduleResult,
  ScheduleOptions,
  ScheduleResult,
  TaskDefinition,
  TaskView,
} from '../delayed-task.types';
import {
  readProgress,
  readResult,
  readRun,
  RecordReader,
  RecordWriter,
  whenOf,
  checkGroup,
  checkId,
  checkOperationId,
  checkRetention,
  taskInput,
  definitionOf,
  groupDueMs,
  type Partition,
  Partitions,
} from './task-codec';
import { MAX_TIMER_MS, pause, shown, Steps, time, UniqueIds } from '../../../internal/src';

/** First and longest pause of `waitFor` between two reads of a task, ms. */
const [FIRST_LOOK_MS, LAST_LOOK_MS] = [5, 500];

/**
 * How long Redis keeps the result of a call, ms. If a lost reply makes the client send the call again, the script returns the kept result
 * instead of running twice.
 * See DECISIONS.md: schedule-remembers-its-call
 */
export const OPERATION_MS = 60_000;
/** How long Redis keeps the number of partitions after the last boot or cleanup of an app, ms: 90 days. */
const LAYOUT_MS = 90 * 86_400_000;
/** One `scheduleMany` makes at most this many calls at the same time. */
const CALLS_AT_A_TIME = 32;
/** Maximum number of characters of the tasks in one call. A task with more characters gets a call of its own. */
const MAX_CHUNK_CHARS = 4 * 1_024 * 1_024;
/** Number of characters that one `scheduleMany` may have in flight at the same time, approximately. */
const CHARS_AT_A_TIME = 8 * MAX_CHUNK_CHARS;
const CONFLICTS = ['keep', 'replace', 'after'];
/** Advice in the error of a `scheduleMany` that failed halfway. */
const REPEAT =
  "If each task has an id and onConflict is 'keep', repeat the call: a task that exists is not scheduled twice.";

/** Tasks of one partition that one call of a script schedules. */
interface Chunk {
  readonly partition: Partition;
  readonly fields: string[];
  /** Position of each task in the parameter `tasks` of `scheduleMany`. */
  readonly indexes: number[];
  chars: number;
}

/** Schedules, changes and reads the tasks of a queue. Running them is the job of the class Worker. */
export class TaskQueue {
  readonly partitions: Partitions;
  readonly writer: RecordWriter;
  readonly reader = new RecordReader();
  readonly tokens = new UniqueIds();

  constructor(
    readonly registry: ScriptRegistry,
    readonly options: ResolvedDelayedTaskOptions,
  ) {
    this.partitions = new Partitions(registry.keySpace('delayed-task'), options.namespace, options.partitions);
    this.writer = new RecordWriter(options);
  }

  /**
   * Schedules a task. Usually one call of a fast script is enough: the id is new, and the task has no group. For an id that exists, a
   * second script is called, which applies `onConflict`. For a task with a group, only the second script is called.
   *
   * @param options options that `checkScheduling` has checked
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   */
  async scheduleOne(
    task: string | TaskDefinition,
    payload: unknown,
    options: ScheduleOptions,
  ): Promise<ScheduleResult> {
    const { onConflict = 'keep', operationId, id: given = operationId } = options;
    taskInput.choice('onConflict', onConflict, CONFLICTS);
    const id = given === undefined ? this.tokens.next() : checkId(given);
    const partition = this.partitions.of(id);
    const when = whenOf(options);
    const record = this.writer.write(task, payload, options);
    const name = operationId === undefined ? undefined : checkOperationId(operationId);
    const retainMs = checkRetention(options);
    if (options.group !== undefined) {
      const [placed] = await this.send(partition, onConflict, [id, when, record], name, retainMs);
      return { id, ...(placed as Omit<ScheduleResult, 'id'>) };
    }
    const { due, tasks, runs, waits } = partition;
    const { operation, operationMs } = this.operationOf(partition, id, name, retainMs);
    const runAtMs = await this.registry.run(scheduleTask, {
      keys: { due, tasks, runs, waits, operation },
      args: { id, when, record, operationMs },
    });
    if (runAtMs >= 0) return { id, status: 'scheduled', runAtMs };
    const [answer] = await this.send(partition, onConflict, [id, when, record], name, retainMs);
    return { id, ...(answer as Omit<ScheduleResult, 'id'>) };
  }

  /**
   * Checks a task as `scheduleOne` does, but sends nothing.
   *
   * @param options options that `checkScheduling` has checked
   * @throws InvalidInputError
   */
  prepare(task: string | TaskDefinition, payload: unknown, options: ScheduleOptions): PreparedTask {
    taskInput.choice('onConflict', options.onConflict ?? 'keep', CONFLICTS);
    if (options.id !== undefined) checkId(options.id);
    whenOf(options);
    if (options.operationId !== undefined) checkOperationId(options.operationId);
    checkRetention(options);
    const record = this.writer.write(task, payload, options);
    const { name, queue, attempts, backoff, keepResultMs } = definitionOf(task);
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    return {
      name,
      payload: record.slice(record.lastIndexOf('\n') + 1),
      options: {
        queue: queue ?? this.options.namespace,
        attempts,
        backoff,
        keepResultMs,
        ...(Object.fromEntries(given) as ScheduleOptions),
      },
    };
  }

  /**
   * Schedules many tasks, at most MAX_CHUNK tasks of one partition and MAX_CHUNK_CHARS characters per call. After a failed call, begins no
   * further call.
   *
   * @throws InvalidInputError before anything is sent; the error of a call that failed
   */
  async schedule(tasks: readonly NewTask[], { onConflict = 'keep' }: ConflictOptions): Promise<ScheduleResult[]> {
    taskInput.choice('onConflict', onConflict, CONFLICTS);
    taskInput.list('tasks', tasks, 'an array of tasks');
    const ids: string[] = [];
    const chunks = this.chunksOf(tasks, ids);
    const answers = new Array<ScheduleResult>(tasks.length);
    let next = 0;
    const steps = new Steps('DelayedTaskService.scheduleMany', REPEAT);
    // Each lane makes one call after the other, and a limited number of lanes run at the same time. If all calls were made at once, the
    // last ones could miss their deadlines.
    const lane = async (): Promise<void> => {
      for (let chunk = chunks[next++]; chunk !== undefined; chunk = chunks[next++]) {
        const { partition, fields, indexes } = chunk;
        try {
          const answered = await steps.note(this.send(partition, onConflict, fields));
          answered.forEach(({ status, runAtMs }, i) => {
            const index = indexes[i] as number;
            answers[index] = { id: ids[index] as string, status, runAtMs };
          });
        } catch (error) {
          next = chunks.length;
          throw error;
        }
      }
    };
    const largest = chunks.reduce((most, { chars }) => Math.max(most, chars), 1);
    const width = Math.max(1, Math.min(CALLS_AT_A_TIME, chunks.length, Math.floor(CHARS_AT_A_TIME / largest)));
    const lanes = Array.from({ length: width }, lane);
    for (const outcome of await Promise.allSettled(lanes)) {
      if (outcome.status === 'rejected') throw steps.errorOf(outcome.reason);
    }
    return answers;
  }

  async cancel(id: string, from: 'all' | 'running' | 'dead'): Promise<CancelResult> {
    return this.cancelStored(checkId(id), from);
  }

  /** Removes a task or a schedule. @param id the id under which Redis stores it */
  cancelStored(id: string, from: 'all' | 'running' | 'dead'): Promise<CancelResult> {
    const { due, leased, tasks, runs, dead, waits, lines, heads, operation } = this.partitions.of(id);
    const keys = { due, leased, tasks, runs, dead, operation: operation(this.tokens.next()), waits, lines, heads };
    return this.registry.run(cancelTask, { keys, args: { id, from, operationMs: OPERATION_MS } });
  }

  async reschedule(id: string, time: DueTime, from: 'due' | 'dead'): Promise<RescheduleResult> {
    const { due, leased, tasks, runs, dead, waits, lines, heads, operation } = this.partitions.of(checkId(id));
    const keys = { due, leased, tasks, runs, dead, waits, operation: operation(this.tokens.next()), lines, heads };
    const args = { id, when: whenOf(time), from, operationMs: OPERATION_MS };
    const { status, runAtMs } = await this.registry.run(rescheduleTask, { keys, args });
    return status === 'moved' ? { status: 'rescheduled', runAtMs } : { status };
  }

  /** Returns a task. @param expected definition whose name the task must have @throws InvalidInputError if the task has another name */
  async get(id: string, expected?: TaskDefinition): Promise<TaskView | undefined> {
    const { due, leased, tasks, runs, dead, result, progress: progressOf } = this.partitions.of(checkId(id));
    const keys = { due, leased, tasks, runs, dead, result: result(id), progress: progressOf(id) };
    const found = await this.registry.run(getTask, { keys, args: { id } });
    if (found.state === '') return undefined;
    if (found.state === 'done') {
      const [token, atMs = '0', ...json] = found.result.split(' ');
      const progress = readProgress(found.progress, token);
      const nothing = { name: '', group: undefined, payload: undefined, attemptsMade: 0, attempts: 0 };
      return { id, state: 'done', atMs: Number(atMs), ...nothing, ...readResult(json.join(' ')), progress };
    }
    const { name, group, payload, attempts } = this.reader.read(found.record);
    if (expected !== undefined && name !== definitionOf(expected).name) {
      throw taskInput.error(
        `The task with this id has the name ${shown(name)}, but the call expects a task named ${shown(expected.name)}. Pass the definition for the name of this task, or another id.`,
      );
    }
    const { attemptsMade, error } = readRun(found.run);
    const { state } = found;
    const atMs =
      state === 'waiting' && group !== undefined ? groupDueMs(found.record, found.run, found.atMs) : found.atMs;
    const progress = readProgress(found.progress, found.run.split(' ')[2]);
    const data = { payload: JSON.parse(payload) as unknown, result: undefined, progress };
    return { id, state, name, group, ...data, atMs, attemptsMade, attempts, error };
  }

  /** Waits until a task is done, dead-lettered or removed, or until `timeoutMs` is over. @returns the task as it is then */
  async waitFor(id: string, options: { readonly timeoutMs?: number }): Promise<TaskView | undefined> {
    const { timeoutMs = 30_000 } = taskInput.options('', options, { timeoutMs: true });
    const untilMs = time.monotonicMs() + taskInput.integer('timeoutMs', timeoutMs, 0, MAX_TIMER_MS);
    for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(1.5 * pauseMs, LAST_LOOK_MS)) {
      const task = await this.get(id);
      if (task?.state !== 'waiting' && task?.state !== 'running') return task;
      const leftMs = untilMs - time.monotonicMs();
      if (leftMs <= 0) return task;
      // A caller that still waits does not keep a process from ending that has closed its app.
      await pause(Math.min(leftMs, pauseMs), { ref: false });
    }
  }

  async stats(): Promise<QueueStats> {
    const counts = this.partitions.all.map(({ due, leased, dead }) =>
      this.registry.run(countTasks, { keys: { due, leased, dead }, args: {} }),
    );
    const [paused, all] = await Promise.all([this.pause('read'), Promise.all(counts)]);
    const total = all.reduce((sum, part) => ({
      waiting: sum.waiting + part.waiting,
      overdue: sum.overdue + part.overdue,
      running: sum.running + part.running,
      dead: sum.dead + part.dead,
      lateMs: Math.max(sum.lateMs, part.lateMs),
    }));
    return { ...total, paused };
  }

  /** Pauses or resumes the queue, or only reads if it is paused. @returns true if the queue is paused after the call */
  pause(action: 'pause' | 'resume' | 'read'): Promise<boolean> {
    return this.registry.run(pauseQueue, { keys: { paused: this.partitions.paused }, args: { action } });
  }

  /** Pauses or resumes a group, in all partitions. @throws InvalidInputError */
  async pauseGroup(group: string, action: 'pause' | 'resume'): Promise<void> {
    const args = { group: checkGroup(group), action };
    const steps = new Steps(`DelayedTaskService.${action}`, 'Repeat the call.');
    await steps.all(
      this.partitions.all.map(({ due, heads, pauses, waits }) =>
        this.registry.run(pauseGroup, { keys: { due, heads, pauses, waits }, args }),
      ),
    );
  }

  /**
   * Returns the number of partitions that Redis has stored for the queue, and keeps it for another 90 days. If Redis has none, stores the
   * number of this app.
   */
  notedPartitions(): Promise<number> {
    const args = { partitions: this.options.partitions, keepMs: LAYOUT_MS };
    return this.registry.run(noteLayout, { keys: { layout: this.partitions.layout }, args });
  }

  /**
   * Schedules tasks of one partition with one call of the script.
   *
   * @param fields for each task its id, its due time, and its name, settings and payload as one text
   * @param operationId option `operationId`, if the call has only one task
   * @param retainMs how long Redis remembers `operationId`, ms; default: the option `operationRetentionMs` of the module
   */
  send(partition: Partition, conflict: string, fields: string[], operationId?: string, retainMs?: number) {
    const { due, leased, tasks, runs, dead, waits, lines, heads } = partition;
    const { operation, operationMs } = this.operationOf(partition, fields[0] as string, operationId, retainMs);
    const keys = { due, leased, tasks, runs, dead, waits, operation, lines, heads };
    return this.registry.run(scheduleTasks, { keys, args: { conflict, operationMs, tasks: fields } });
  }

  /**
   * Returns the key under which Redis keeps the reply to a call, and how long, ms. If a call is repeated, the script returns the kept
   * reply.
   *
   * @param operationId option `operationId` of the call; undefined if the call has none
   */
  private operationOf(partition: Partition, id: string, operationId: string | undefined, retainMs?: number) {
    if (operationId === undefined) {
      return { operation: partition.operation(this.tokens.next()), operationMs: OPERATION_MS };
    }
    // A token has no colon, so these names never equal a token. The length of `operationId` shows where the id of the task begins, so
    // that two different pairs of both never have the same name.
    const name = `:${operationId.length}:${operationId}${id}`;
    return { operation: partition.operation(name), operationMs: retainMs ?? this.options.operationRetentionMs };
  }

  /**
   * Distributes tasks over the calls that schedule them. All tasks are checked first, so that one invalid task prevents all calls.
   *
   * @param ids receives the id of each task
   */
  private chunksOf(tasks: readonly NewTask[], ids: string[]): Chunk[] {
    const full: Chunk[] = [];
    const open = new Map<Partition, Chunk>();
    for (let i = 0; i < tasks.length; i++) {
      const task = tasks[i] as NewTask;
      if (typeof task !== 'object' || (task as unknown) === null) taskInput.refuse(`tasks[${i}]`, task, 'an object');
      if ('operationId' in task)
        throw taskInput.error(
          `tasks[${i}] has operationId, which scheduleMany does not support. Call schedule for this task.`,
        );
      const id = task.id === undefined ? this.tokens.next() : checkId(task.id);
      const partition = this.partitions.of(id);
      const record = this.writer.write('task' in task ? task.task : task.name, task.payload, task);
      let chunk = open.get(partition);
      if (
        chunk === undefined ||
        chunk.indexes.length === MAX_CHUNK ||
        (chunk.chars > 0 && chunk.chars + record.length > MAX_CHUNK_CHARS)
      ) {
        chunk = { partition, fields: [], indexes: [], chars: 0 };
        open.set(partition, chunk);
        full.push(chunk);
      }
      ids.push(id);
      chunk.indexes.push(i);
      chunk.fields.push(id, whenOf(task), record);
      chunk.chars += record.length;
    }
    return full;
  }
}
