import { setTimeout as after } from 'node:timers/promises';
import { UnknownOutcomeError, type ScriptRegistry } from 'luanest/script-registry';
import { events } from '../delayed-task.events';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { RecordReader } from '../queue/task-codec';
import { UniqueIds } from '../../../internal/src';
import { takeTasks } from './worker.scripts';
import { Attempt } from './running-attempts';
import type { TaskLog } from './task-log';
import type { WorkerState } from './worker-state';

/** What came of a look for due tasks. */
export interface Taken {
  readonly attempts: readonly Attempt[];
  /** How long until there is something to take, ms from now; Infinity when nothing is in sight. */
  readonly waitMs: number;
}

/** What a log says of a task whose worker died; its dead letter says the same. */
const LEASE_ENDED = 'the lease ended, the worker died or stood still';

// See DECISIONS.md: take-is-repeatable
/** Takes due tasks for this worker. */
export class Taker {
  private readonly tokens = new UniqueIds();
  private readonly reader = new RecordReader();
  private readonly worker = this.tokens.next();

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedDelayedTaskOptions,
    private readonly state: WorkerState,
    private readonly log: TaskLog,
  ) {}

  /**
   * Takes up to `limit` tasks.
   *
   * @param lane takes of one lane follow one another, so that Redis remembers the last take of each
   * @returns undefined when Redis could not be asked
   */
  async take(partition: Partition, lane: number, limit: number): Promise<Taken | undefined> {
    const { leaseMs, pollMs } = this.options;
    const { due, leased, tasks, runs, dead, waits } = partition;
    const keys = { due, leased, tasks, runs, dead, waits, taken: partition.taken(`${this.worker}.${lane}`) };
    const token = this.tokens.next();
    const firstSentAt = performance.now();
    for (let sentAt = firstSentAt; !this.state.stopped; sentAt = performance.now()) {
      try {
        const args = { token, limit, leaseMs, markMs: 2 * pollMs + 1_000 };
        const answer = await this.registry.run(takeTasks, { keys, args });
        const nowAt = performance.now();
        const { queue } = this.options;
        const { buried } = answer;
        for (const task of buried) this.log.dead({ ...task, attempts: task.attempt }, LEASE_ENDED);
        if (buried.length > 0) events.buried.publish(() => ({ queue, count: buried.length, tasks: buried }));
        const leaseEndsAt = firstSentAt + leaseMs;
        // The answer of a take that came too late names tasks that others may have.
        const usable = nowAt < leaseEndsAt ? answer.tasks : [];
        const attempts = usable.map(
          ({ id, record, attempt, runAt }) =>
            new Attempt({
              id,
              attempt,
              runAt,
              lateMs: answer.now - runAt,
              token,
              partition,
              record: this.reader.read(record),
              leaseEndsAt,
            }),
        );
        // Redis read its clock somewhere between.
        const readAt = (sentAt + nowAt) / 2;
        return { attempts, waitMs: answer.nextAt === 0 ? Infinity : readAt + answer.nextAt - answer.now - nowAt };
      } catch (error) {
        this.state.tell('take', error);
        // It may have run: asked again under the same token, it names the same tasks.
        if (!(error instanceof UnknownOutcomeError) || performance.now() - firstSentAt >= leaseMs) return undefined;
        await after(20 + Math.random() * 30, undefined, { ref: false });
      }
    }
    return undefined;
  }
}
