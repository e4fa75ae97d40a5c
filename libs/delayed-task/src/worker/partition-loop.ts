import { type ScriptRegistry, UnknownOutcomeError } from 'luanest/script-registry';
import { Bell, MAX_TIMER_MS, pause, time, type Timer, UniqueIds } from '../../../internal/src';
import type { Calls, Capacity } from '../../../worker/src';
import { events } from '../delayed-task.events';
import { limitsOf, type ResolvedDelayedTaskOptions } from '../delayed-task.options';
import { takeTasks } from './worker.scripts';
import type { Broadcaster } from '../queue/broadcast';
import { type Partition, RecordReader } from '../queue/task-codec';
import type { TaskQueue } from '../queue/task-queue';
import { type Settlements, type Step, TaskAttempt } from './settlements';
import { named, type TaskLog } from './task-log';

export interface Taken {
  readonly attempts: readonly TaskAttempt[];
  /** Time from now until the next task is due or the next lease ends, ms; Infinity if the partition has no task. */
  readonly waitMs: number;
}

/** First and longest pause before a failed call that takes tasks is repeated, ms. A random time is added. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [20, 400];

/** Reason in the log if a task became a dead letter because its lease ended during its last attempt. */
const LEASE_ENDED = 'its lease ended, for example because the worker died, was blocked or could not reach Redis';

/**
 * Takes due tasks from Redis. If the reply is lost, the same call is repeated for up to `leaseMs`, and the script returns the same tasks
 * again.
 * See DECISIONS.md: take-is-repeatable
 */
export class Taker {
  private readonly tokens = new UniqueIds();
  private readonly reader = new RecordReader();
  private readonly worker = this.tokens.next();
  private readonly limits: ReturnType<typeof limitsOf>;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedDelayedTaskOptions,
    private readonly calls: Calls<Step>,
    private readonly log: TaskLog,
    private readonly broadcaster?: Broadcaster,
  ) {
    this.limits = limitsOf(options);
  }

  /**
   * Takes up to `limit` tasks of a partition.
   *
   * @param ended finished tasks that have a group, each as its group, a line break and its id. Other tasks of the group may then start
   * @param lane a worker may make several calls in parallel, one in each lane. Redis remembers the tasks of the last call of each lane, and
   *   returns them again if the reply was lost
   * @returns undefined if the call failed, or the worker has stopped
   */
  async take(
    partition: Partition,
    lane: number,
    limit: number,
    ended: readonly string[] = [],
  ): Promise<Taken | undefined> {
    const { leaseMs } = this.options;
    const { due, leased, tasks, runs, dead, waits, lines, heads, starts, pauses, places, rates } = partition;
    const taken = partition.taken(`${this.worker}.${lane}`);
    const keys = { due, leased, tasks, runs, dead, waits, taken, lines, heads, starts, pauses, places, rates };
    const token = this.tokens.next();
    const firstSentAt = time.monotonicMs();
    let mayHaveRun = false;
    for (let pauseMs = FIRST_PAUSE_MS; !this.calls.stopped; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const sentAt = time.monotonicMs();
      try {
        const args = { token, limit, leaseMs, ...this.limits, ended };
        const reply = await this.registry.run(takeTasks, { keys, args });
        const nowAt = time.monotonicMs();
        const { namespace } = this.options;
        const { buried } = reply;
        for (const task of buried) {
          this.log.dead({ named: named(task), attempt: task.attempt, attempts: task.attempt }, LEASE_ENDED);
          this.broadcaster?.settled({ ...task, attempts: task.attempt }, 'dead', LEASE_ENDED);
        }
        if (buried.length > 0) events.tasksBuried.publish(() => ({ namespace, count: buried.length, tasks: buried }));
        const taken = reply.tasks.map(
          ({ id, record, attempt, runAtMs }) =>
            new TaskAttempt({
              registry: this.registry,
              broadcaster: this.broadcaster,
              id,
              attempt,
              runAtMs,
              lateMs: reply.now - runAtMs,
              token,
              partition,
              record: this.reader.read(record),
              sentAt: firstSentAt,
              leaseMs,
            }),
        );
        // Other workers may already have taken the tasks whose leases have ended by now.
        const attempts = taken.filter(({ endsAt }) => nowAt < endsAt);
        // Redis read its clock at some moment between the call and the reply. The middle is the best estimate.
        const readAt = (sentAt + nowAt) / 2;
        return { attempts, waitMs: reply.nextAt === 0 ? Infinity : readAt + reply.nextAt - reply.now - nowAt };
      } catch (error) {
        this.calls.reportError('take', error);
        // After UnknownOutcomeError, the script may have run. The call is repeated with the same token, so the script returns the same
        // tasks.
        mayHaveRun ||= error instanceof UnknownOutcomeError;
        if (!mayHaveRun || time.monotonicMs() - firstSentAt >= leaseMs) return undefined;
        await pause(pauseMs * (1 + Math.random() * 1.5), { ref: false });
      }
    }
    return undefined;
  }
}

/** Waits until a time, or until `ring` is called. After `ring`, each wait ends at once, until `reset` is called. */
class Alarm {
  private rung = false;
  private wake: (() => void) | undefined;

  reset(): void {
    this.rung = false;
  }

  /** Ends the current wait. Further waits end at once, until `reset` is called. */
  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /**
   * Waits until the next task is due or the next lease ends.
   *
   * @param ms time from now, ms. A time that is too long for a timer, such as Infinity, is shortened
   */
  sleep(ms: number): Promise<void> {
    return this.wait((end) => time.setTimer(end, Math.min(MAX_TIMER_MS, Math.max(1, Math.ceil(ms)))));
  }

  /** Waits before a failed call is repeated. */
  pause(ms: number): Promise<void> {
    return this.wait((end) => time.setTimeLimit(end, Math.ceil(ms)));
  }

  private async wait(start: (end: () => void) => Timer): Promise<void> {
    if (this.rung) return;
    await new Promise<void>((resolve) => {
      const timer = start(resolve);
      this.wake = () => {
        time.clearTimer(timer);
        resolve();
      };
    });
    this.wake = undefined;
  }
}

interface LoopContext {
  readonly registry: ScriptRegistry;
  readonly options: ResolvedDelayedTaskOptions;
  readonly calls: Calls<Step>;
  readonly capacity: Capacity;
  readonly pausing: Pausing;
  readonly taker: Taker;
  readonly settlements: Settlements;
  /** Starts the handler of a task. The caller must have reserved a slot for the handler. */
  readonly begin: (attempt: TaskAttempt) => void;
  /**
   * Called when a running task was cancelled or replaced. @param id id of the task; undefined if this may concern any task of the partition
   */
  readonly cancelled: (partition: Partition, id?: string) => void;
  /** Partitions from which this worker has taken tasks since their last periodic cleanup. */
  readonly busy: Set<Partition>;
}

/**
 * A message with this prefix and the id of a task reports that the running task was cancelled or replaced. Any other message reports that a
 * task is due earlier.
 */
const CANCELLED = 'cancelled ';

/** Maximum number of tasks that are taken in one call. */
const MAX_TAKE = 64;
/** If `concurrency` allows it, one call takes up to this many tasks, because taking fewer costs Redis almost as much. */
const MIN_TAKE = 16;
/** Maximum number of finished tasks of groups that one call reports to Redis. */
const MAX_ENDED = 250;

/**
 * Takes the due tasks of one partition again and again. In between, sleeps until the next task is due, the next lease ends, or a Pub/Sub
 * message reports an earlier task.
 * See DECISIONS.md: sleepers-mark-what-they-wait-for
 */
export class PartitionLoop {
  private readonly alarm = new Alarm();
  private readonly most: number;
  private readonly bell: Bell;
  private takingMore = false;
  /**
   * Finished tasks of groups to report to Redis with the next call, so that other tasks of these groups may start. Used only with the
   * option `groupLimits.concurrency`.
   */
  private ended: string[] = [];

  constructor(
    private readonly partition: Partition,
    private readonly context: LoopContext,
  ) {
    const { registry, calls } = context;
    const failed = (error: unknown): void => calls.reportError('subscribe', error);
    this.bell = new Bell(registry, partition.waits, (_, message) => this.rung(message), failed);
    const { concurrency, partitions } = context.options;
    // While many tasks are due, two calls are in flight, so that Redis works on one while this process handles the tasks of the other.
    // See DECISIONS.md: two-takes-at-a-time
    const share = Math.ceil(concurrency / Math.max(2, partitions));
    this.most = Math.min(MAX_TAKE, Math.max(Math.min(MIN_TAKE, concurrency), share));
  }

  async run(): Promise<void> {
    const { calls, capacity, pausing, taker } = this.context;
    for (let failures = 0; !calls.closing;) {
      if (pausing.paused) await pausing.resumed();
      const slots = await capacity.reserve(this.most);
      if (slots === 0) break;
      if (pausing.paused) {
        capacity.release(slots);
        continue;
      }
      this.alarm.reset();
      this.bell.listen();
      const ended = this.ended.splice(0, MAX_ENDED);
      const taken = await taker.take(this.partition, 0, slots, ended);
      if (!taken) this.ended.push(...ended);
      else if (this.ended.length > 0) this.alarm.ring();
      const full = this.begin(taken, slots);
      failures = taken ? 0 : failures + 1;
      if (full) this.takeMore();
      else if (taken) await this.sleep(taken.waitMs, 'until due');
      else await this.sleep(50 * 2 ** Math.min(failures, 4), 'after a failure');
    }
    this.bell.close();
  }

  wake(): void {
    this.alarm.ring();
  }

  /** Notes that a task of a group has finished, so that the next task of the group may start. */
  frees(group: string, id: string): void {
    this.ended.push(`${group}\n${id}`);
    this.alarm.ring();
  }

  private rung(message: string | undefined): void {
    if (message?.startsWith(CANCELLED)) return this.context.cancelled(this.partition, message.slice(CANCELLED.length));
    // If `message` is undefined, messages may have been missed, so any running task may have been cancelled.
    if (message === undefined) this.context.cancelled(this.partition);
    this.alarm.ring();
  }

  /**
   * Starts the handlers of the taken tasks. During a shutdown, gives the tasks back instead.
   *
   * @param taken undefined if the call failed
   * @param slots number of handlers for which slots are reserved
   * @returns true if all requested tasks came, so that more tasks may be due
   */
  private begin(taken: Taken | undefined, slots: number): boolean {
    const { calls, capacity, settlements, begin, busy } = this.context;
    const attempts = taken?.attempts ?? [];
    if (calls.closing) {
      capacity.release(slots);
      if (attempts.length > 0 && !calls.stopped) calls.track(settlements.release(attempts));
      return false;
    }
    if (attempts.length < slots) capacity.release(slots - attempts.length);
    if (attempts.length > 0) busy.add(this.partition);
    for (const attempt of attempts) begin(attempt);
    return attempts.length === slots;
  }

  /**
   * Takes tasks with a second call at a time, in parallel to the first. Ends when a call returns fewer tasks than requested, or when a
   * shutdown begins.
   */
  private takeMore(): void {
    if (this.takingMore) return;
    this.takingMore = true;
    const { calls } = this.context;
    const extra = this.takeUntilNotFull().finally(() => (this.takingMore = false));
    calls.track(extra);
  }

  private async takeUntilNotFull(): Promise<void> {
    const { calls, capacity, pausing, taker } = this.context;
    while (!calls.closing) {
      const slots = await capacity.reserve(this.most);
      if (slots === 0) return;
      if (pausing.paused) return capacity.release(slots);
      const taken = await taker.take(this.partition, 1, slots);
      if (!this.begin(taken, slots)) return;
    }
  }

  private async sleep(waitMs: number, why: 'until due' | 'after a failure'): Promise<void> {
    if (this.context.calls.closing || waitMs <= 0) return;
    await (why === 'until due' ? this.alarm.sleep(waitMs) : this.alarm.pause(waitMs));
  }
}

/** Knows for a worker whether its queue is paused. Until Redis has replied for the first time, the queue counts as paused. */
export class Pausing {
  private isPaused = true;
  private readonly bell: Bell;
  private readonly waiting: (() => void)[] = [];
  private looking = false;
  private again = false;

  constructor(
    private readonly queue: TaskQueue,
    private readonly calls: Calls<Step>,
  ) {
    const failed = (error: unknown): void => calls.reportError('subscribe', error);
    this.bell = new Bell(queue.registry, queue.partitions.paused, () => this.look(), failed);
  }

  get paused(): boolean {
    return this.isPaused && !this.calls.closing;
  }

  /**
   * Called when this process has paused the queue. Stops taking tasks at once, and then asks Redis, because another process may have
   * resumed the queue meanwhile.
   */
  hold(): void {
    this.isPaused = true;
    this.look();
  }

  /** Resolves when the queue is not paused any more, or when the worker shuts down. */
  resumed(): Promise<void> {
    return new Promise((resolve) => (this.paused ? this.waiting.push(resolve) : resolve()));
  }

  close(): void {
    this.bell.close();
    this.release();
  }

  /**
   * Asks Redis whether the queue is paused. If the method is called again during that, Redis is asked once more, because the answer may be
   * outdated.
   */
  look(): void {
    this.again = true;
    if (this.looking) return;
    this.looking = true;
    this.calls.track(this.read().finally(() => (this.looking = false)));
  }

  private async read(): Promise<void> {
    while (this.again && !this.calls.closing) {
      this.again = false;
      // The subscription begins before the read, so that no change after the read is missed.
      this.bell.listen();
      const paused = await this.calls.untilAnswered('pause', () => this.queue.pause('read'));
      // The answer to a later question follows. This one may be older than a pause that `hold` has noted meanwhile.
      if (paused !== undefined && !this.again) this.isPaused = paused;
    }
    if (!this.paused) this.release();
  }

  private release(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
