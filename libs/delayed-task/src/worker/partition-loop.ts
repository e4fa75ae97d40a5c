import { type ScriptRegistry, UnknownOutcomeError } from 'luanest/script-registry';
import { Bell, MAX_TIMER_MS, pause, time, type Timer, UniqueIds } from '../../../internal/src';
import type { Calls, Capacity } from '../../../worker/src';
import { events } from '../delayed-task.events';
import { limitsOf, type ResolvedDelayedTaskOptions } from '../delayed-task.options';
import { takeTasks } from '../delayed-task.scripts';
import type { Broadcaster } from '../queue/broadcast';
import { RecordReader } from '../queue/task-codec';
import type { Partition } from '../queue/task-queue';
import type { Pausing } from './pausing';
import { type Settlements, type Step, TaskAttempt } from './settlements';
import { named, type TaskLog } from './task-log';

export interface Taken {
  readonly attempts: readonly TaskAttempt[];
  /** Time until the next task is due or the next lease ends, ms from now; Infinity if there is no task. */
  readonly waitMs: number;
}

/** Pauses before a take is repeated, without their random part: the first one, and the longest one, ms. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [20, 400];

/** Logged for a task that was dead-lettered because its lease ended in the last attempt. */
const LEASE_ENDED = 'its lease ended, for example because the worker died, stood still or could not reach Redis';

/**
 * Leases due tasks to this worker. If a reply is lost, the call is repeated for up to `leaseMs`, and Redis returns the same tasks.
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
   * Takes up to `limit` tasks.
   *
   * @param ended members of `places` whose tasks have ended
   * @param lane number of the lane: takes of one lane follow each other. For each lane, Redis keeps the last take for a replay
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
        // If the lease is over when the reply comes, other workers may have the tasks.
        const attempts = taken.filter(({ endsAt }) => nowAt < endsAt);
        // Redis read its clock at some moment between the call and the reply.
        const readAt = (sentAt + nowAt) / 2;
        return { attempts, waitMs: reply.nextAt === 0 ? Infinity : readAt + reply.nextAt - reply.now - nowAt };
      } catch (error) {
        this.calls.reportError('take', error);
        // The script may have run, at this or at an earlier try. With the same token, it returns the same tasks again.
        mayHaveRun ||= error instanceof UnknownOutcomeError;
        if (!mayHaveRun || time.monotonicMs() - firstSentAt >= leaseMs) return undefined;
        await pause(pauseMs * (1 + Math.random() * 1.5), { ref: false });
      }
    }
    return undefined;
  }
}

/** Sleeps and pauses that `ring` ends early. If `ring` was called after the last `reset`, they end at once. */
class Alarm {
  private rung = false;
  private wake: (() => void) | undefined;

  reset(): void {
    this.rung = false;
  }

  /** Ends the current sleep or pause, or the next one before a `reset`. */
  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** Sleeps until something is due. @param ms time from now; more than a timer can wait, such as Infinity, ends earlier */
  sleep(ms: number): Promise<void> {
    return this.wait((end) => time.setTimer(end, Math.min(MAX_TIMER_MS, Math.max(1, Math.ceil(ms)))));
  }

  /** Waits before the next try of something that failed. */
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
  /** Begins an attempt. A slot is reserved for it. */
  readonly begin: (attempt: TaskAttempt) => void;
  /** A task that is running was cancelled or replaced. @param id undefined: perhaps any task of the partition */
  readonly cancelled: (partition: Partition, id?: string) => void;
  /** Partitions of which tasks were taken since they were swept last. */
  readonly busy: Set<Partition>;
}

/** First character of a message about a running task that was cancelled or replaced; its id follows. Other messages are about due tasks. */
const CANCELLED = 'cancelled ';

/** Maximum number of tasks that one take requests. A take is a call that leases due tasks to this worker. */
const MAX_TAKE = 64;
/** A take requests up to at least this many tasks, if `concurrency` allows it. A take of fewer tasks costs Redis almost as much. */
const MIN_TAKE = 16;
/** Maximum number of ended tasks of groups that one take reports. */
const MAX_ENDED = 250;

/**
 * Takes the due tasks of one partition. Then sleeps until the next task is due, the next lease ends, or the partition's channel reports
 * an earlier task.
 * See DECISIONS.md: sleepers-mark-what-they-wait-for
 */
export class PartitionLoop {
  private readonly alarm = new Alarm();
  private readonly most: number;
  private readonly bell: Bell;
  private takingMore = false;
  /** Tasks of groups that have ended, for the next take. Only with a limit of running tasks. */
  private ended: string[] = [];

  constructor(
    private readonly partition: Partition,
    private readonly context: LoopContext,
  ) {
    const { registry, calls } = context;
    const failed = (error: unknown): void => calls.reportError('subscribe', error);
    this.bell = new Bell(registry, partition.waits, (_, message) => this.rung(message), failed);
    const { concurrency, partitions } = context.options;
    // While many tasks are due, two takes are in flight, so that Redis works on one while this process works on the other.
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

  /** A task of a group has ended, so that the next one of the group may start. */
  frees(group: string, id: string): void {
    this.ended.push(`${group}\n${id}`);
    this.alarm.ring();
  }

  private rung(message: string | undefined): void {
    if (message?.startsWith(CANCELLED)) return this.context.cancelled(this.partition, message.slice(CANCELLED.length));
    // Messages may have been missed.
    if (message === undefined) this.context.cancelled(this.partition);
    this.alarm.ring();
  }

  /** Begins the attempts, or hands them back if the worker closes. @returns true if more tasks may be due */
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

  /** Starts a second lane of takes, which ends with the first take that is not full, or when the worker stops. */
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
