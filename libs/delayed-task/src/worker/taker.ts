import { UnknownOutcomeError, type ScriptRegistry } from 'luanest/script-registry';
import { events } from '../delayed-task.events';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { RecordReader } from '../queue/task-codec';
import { UniqueIds, pause, time } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import { takeTasks } from './worker.scripts';
import type { Step } from './settlements';
import { TaskAttempt } from './task-attempt';
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

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedDelayedTaskOptions,
    private readonly calls: Calls<Step>,
    private readonly log: TaskLog,
  ) {}

  /**
   * Takes up to `limit` tasks.
   *
   * @param lane number of a series of takes that follow each other. For each series, Redis keeps the last take for a replay
   * @returns undefined if the call failed, or the worker has stopped
   */
  async take(partition: Partition, lane: number, limit: number): Promise<Taken | undefined> {
    const { leaseMs } = this.options;
    const { due, leased, tasks, runs, dead, waits } = partition;
    const keys = { due, leased, tasks, runs, dead, waits, taken: partition.taken(`${this.worker}.${lane}`) };
    const token = this.tokens.next();
    const firstSentAt = time.monotonicMs();
    let mayHaveRun = false;
    for (let pauseMs = FIRST_PAUSE_MS; !this.calls.stopped; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const sentAt = time.monotonicMs();
      try {
        const args = { token, limit, leaseMs };
        const reply = await this.registry.run(takeTasks, { keys, args });
        const nowAt = time.monotonicMs();
        const { namespace: queue } = this.options;
        const { buried } = reply;
        for (const task of buried) {
          this.log.dead({ named: named(task), attempt: task.attempt, attempts: task.attempt }, LEASE_ENDED);
        }
        if (buried.length > 0) events.tasksBuried.publish(() => ({ queue, count: buried.length, tasks: buried }));
        // If the lease is over when the reply comes, other workers may have the tasks.
        const usable = nowAt < firstSentAt + leaseMs ? reply.tasks : [];
        const attempts = usable.map(
          ({ id, record, attempt, runAtMs }) =>
            new TaskAttempt({
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
