import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { deadLetter, DelayedTaskEvents, DelayedTaskService, type TaskContext } from 'luanest/delayed-task';
import { resolveOptions } from '../../../libs/delayed-task/src/delayed-task.options';
import { delayedTaskScripts } from '../../../libs/delayed-task/src/delayed-task.scripts';
import { TaskModel, type TaskInput, type TaskOperation, type TaskOutput } from '../models/tasks';
import type { Session, Step } from '../record/client';
import { now, nowMs, type Recorded } from '../record/journal';
import { below, choose, type Random } from '../record/random';
import {
  narrowed,
  operationOf,
  SLACK_MS,
  type Bench,
  type BenchContext,
  type HistoryPlan,
  type Subject,
} from './subject';

const FLAVOURS = ['tasks'] as const;
const NAME = 'job';
const ATTEMPTS = 3;
const LEASE_MS = 300;
/** Longer than calls and takes that are repeated after a fault, ms. */
const TROUBLE_MS = 1_500;

interface Payload {
  /** Id of the operation that scheduled the task. */
  readonly plan: string;
}

class TaskSession implements Session {
  constructor(
    private readonly tasks: DelayedTaskService,
    private readonly plan: HistoryPlan,
    private readonly random: Random,
  ) {}

  next(): Step {
    const { tasks } = this;
    const { key } = this.plan;
    const delayMs = below(this.random, 40);
    const kind = choose(this.random, [
      [8, 'keep'],
      [3, 'replace'],
      [5, 'get'],
      [2, 'cancel'],
      [1, 'cancel running'],
      [2, 'reschedule'],
      [1.5, 'replay'],
      [0.7, 'drop'],
    ]);
    switch (kind) {
      case 'keep':
      case 'replace':
        return this.schedule(kind, delayMs);
      case 'get':
        return getStep(tasks, key);
      case 'cancel':
      case 'cancel running':
        return cancelStep(tasks, key, kind === 'cancel running');
      case 'reschedule':
        return stepOf({ op: 'reschedule', delayMs }, async () => tasks.reschedule(key, { delayMs }));
      case 'replay':
        return stepOf({ op: 'replay' }, async () => ({
          status: (await tasks.replay([key], { delayMs })) === 1 ? 'replayed' : 'unknown',
        }));
      case 'drop':
        return stepOf({ op: 'drop' }, async () => ({
          status: (await tasks.drop([key])) === 1 ? 'dropped' : 'unknown',
        }));
    }
  }

  private schedule(onConflict: 'keep' | 'replace', delayMs: number): Step {
    return stepOf({ op: 'schedule', onConflict, delayMs }, async (plan) => {
      const options = { id: this.plan.key, delayMs, onConflict };
      const { status, runAtMs } = await this.tasks.schedule(NAME, { plan } satisfies Payload, options);
      return { status, runAtMs };
    });
  }
}

function stepOf(input: TaskInput, call: (id: string) => Promise<TaskOutput>): Step {
  return { input, call };
}

function cancelStep(tasks: DelayedTaskService, key: string, evenRunning: boolean): Step {
  return stepOf({ op: 'cancel', evenRunning }, async () => ({ status: await tasks.cancel(key, { evenRunning }) }));
}

function getStep(tasks: DelayedTaskService, key: string): Step {
  return stepOf({ op: 'get' }, async () => {
    const task = await tasks.get(key);
    return task === undefined
      ? { status: 'none' }
      : { status: task.state, runAtMs: task.atMs, attemptsMade: task.attemptsMade };
  });
}

/** Records what the handlers of a process observe: takes, and the outcomes that Redis has confirmed. */
class Observer {
  private troubleAt = -Infinity;
  /** Operations whose outcome is open, by the name of their attempt. */
  private readonly open = new Map<string, string>();
  /** Names that several attempts have had, so that it is not known which of them an event is about. */
  private readonly ambiguous = new Set<string>();

  constructor(
    private readonly context: BenchContext,
    private readonly queue: string,
    private readonly random: Random,
  ) {
    subscribe(DelayedTaskEvents.attemptSettled, this.settled);
    subscribe(DelayedTaskEvents.callFailed, this.failed);
  }

  readonly handle = async ({ plan }: Payload, task: TaskContext): Promise<unknown> => {
    const { journal } = this.context;
    const { at, wallMs: wallNow } = now();
    // Redis' clock is that of this machine.
    const wallMs = at - wallNow;
    const [runAtMs, takenAt] = [task.runAtMs, task.runAtMs + task.lateMs + wallMs];
    const input = { op: 'take', plan, attempt: task.attempt, runAtMs, notBefore: runAtMs + wallMs - SLACK_MS } as const;
    // A take that was sent twice may have had its effect the first time.
    const call = this.isTroubled(at) ? 0 : takenAt - SLACK_MS;
    const of = journal.newId();
    const end = { at: Math.min(at, takenAt + SLACK_MS), wallMs: 0, closes: 0, how: 'returned', output: {} } as const;
    journal.observed({ key: task.id, id: of, client: 'worker', call, input, end });
    await sleep(below(this.random, 20) === 0 ? 150 : below(this.random, 12));
    const op = choose(this.random, [
      [6, 'succeed'],
      [4, 'fail'],
      [1, 'give up'],
    ]);
    const name = nameOf(this.queue, task.id, task);
    const id = journal.call(task.id, 'worker', { op, of } satisfies TaskInput);
    if (this.open.has(name)) this.ambiguous.add(name);
    this.open.set(name, id);
    if (op === 'fail') throw new Error('seeded');
    return op === 'give up' ? deadLetter('seeded') : undefined;
  };

  close(): void {
    unsubscribe(DelayedTaskEvents.attemptSettled, this.settled);
    unsubscribe(DelayedTaskEvents.callFailed, this.failed);
  }

  private isTroubled(at: number): boolean {
    const { connection } = this.context;
    if (connection.closedAt > this.troubleAt) this.troubleAt = connection.closedAt;
    return at - this.troubleAt < TROUBLE_MS;
  }

  private readonly settled = (event: unknown): void => {
    const settled = event as DelayedTaskEvents['attemptSettled'];
    const name = nameOf(settled.namespace, settled.id, settled);
    const id = this.open.get(name);
    // A later event of the same name may be that of an earlier attempt, also after one of them was settled.
    if (id === undefined || this.ambiguous.has(name)) return;
    this.open.delete(name);
    this.context.journal.end(id, { ...now(), closes: 0, how: 'returned', output: { status: settled.status } });
  };

  private readonly failed = (event: unknown): void => {
    if ((event as DelayedTaskEvents['callFailed']).during === 'take') this.troubleAt = nowMs();
  };
}

/** Returns a name of an attempt. An id that is used again has attempts of the same number, but seldom as late to the millisecond. */
function nameOf(queue: string, task: string, { attempt, lateMs }: { attempt: number; lateMs: number }): string {
  return `${queue} ${task} ${attempt} ${lateMs}`;
}

function open(context: BenchContext): Bench {
  const queue = context.resend ? 'resend' : 'plain';
  const options = resolveOptions({
    namespace: queue,
    partitions: 2,
    concurrency: 200,
    leaseMs: LEASE_MS,
    attempts: ATTEMPTS,
    backoff: { delayMs: 8, maxDelayMs: 8 },
  });
  const tasks = new DelayedTaskService(context.connection.registry, options);
  let observer: Observer | undefined;
  if (context.works) {
    observer = new Observer(context, queue, Math.random);
    tasks.handle(NAME, observer.handle);
    tasks.onApplicationBootstrap();
  }
  return {
    session: (plan, random) => new TaskSession(tasks, plan, random),
    last: ({ key }) => [cancelStep(tasks, key, true), getStep(tasks, key)],
    close() {
      observer?.close();
      void tasks.beforeApplicationShutdown();
    },
  };
}

function operations(_: HistoryPlan, recorded: readonly Recorded[], more: number): TaskOperation[] {
  const calls = new Map(recorded.map(({ id, call }) => [id, call]));
  const start = Math.min(...recorded.map(({ call }) => call).filter((call) => call > 0));
  const missing = new Map<string, number>();
  const all = recorded.flatMap((one): TaskOperation[] => {
    const operation = operationOf<TaskOperation>(one, ({ op }) => op === 'get');
    if (operation === undefined) return [];
    if (operation.input.op !== 'take') return [narrowed(operation, one, momentOf(operation))];
    const { plan, attempt } = operation.input;
    missing.set(plan, Math.max(attempt, missing.get(plan) ?? 0));
    // It is not before the task was scheduled.
    return [{ ...operation, call: Math.max(calls.get(plan) ?? start, one.call) }];
  });
  for (const { input } of all) if (input.op === 'take') missing.set(input.plan, (missing.get(input.plan) ?? 0) - 1);
  const unseen = more + [...missing.values()].reduce((sum, count) => sum + Math.max(0, count), 0);
  const unseenOf = (op: 'unseen take' | 'bury', count: number): TaskOperation[] =>
    Array.from({ length: count }, (_, n) => ({ id: `${op} ${n}`, call: start, return: Infinity, input: { op } }));
  return [...all, ...unseenOf('unseen take', unseen), ...unseenOf('bury', more)];
}

/** A task is due at the moment of the call and the delay. */
function momentOf({ input, output }: TaskOperation): number | undefined {
  if (!('delayMs' in input) || output?.status === 'kept' || !output?.runAtMs) return undefined;
  return output.runAtMs - input.delayMs;
}

export const tasks: Subject = {
  name: 'tasks',
  flavours: FLAVOURS,
  scripts: delayedTaskScripts,
  open,
  operations,
  unseen: [2, 4, 8, 16],
  model: () => new TaskModel({ attempts: ATTEMPTS, lease: LEASE_MS - SLACK_MS }),
};
