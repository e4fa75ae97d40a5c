import {
  scheduleTask,
  scheduleTasks,
  type TakenTask,
  acknowledgeTasks,
  completeTask,
  failTask,
  releaseTasks,
  renewTasks,
  sweepTasks,
  takeTasks,
} from '../../../libs/delayed-task/src/delayed-task.scripts';
import { RecordWriter } from '../../../libs/delayed-task/src/queue/task-codec';
import { OPERATION_MS } from '../../../libs/delayed-task/src/queue/task-queue';
import type { ScriptCall, Step } from '../engine/protocol';
import type { World } from '../engine/world';
import { operatorSteps } from './delayed-task-operator';
import { partition, type Running, type Settings, type TaskState, type Worker } from './delayed-task-state';

const LEASE_MS = 1_000;
const RETRY_MS = 200;
export const { due, lines, heads, leased, tasks, runs, dead, waits, starts, pauses, places, rates } = partition;
const writer = new RecordWriter({
  attempts: 1,
  backoff: { delayMs: RETRY_MS, factor: 1, maxDelayMs: RETRY_MS },
  keepResultMs: 0,
  maxPayloadBytes: 100,
});

function publisherSteps(state: TaskState, settings: Settings): Step<TaskState>[] {
  const [next] = state.toSchedule;
  if (next === undefined) return [];
  const [id, delayMs] = next;
  const record = writer.write('n', 1, { attempts: settings.tasks[id]?.attempts ?? 1 });
  const operation = partition.operation(`p${state.calls}`);
  const scheduled = (to: TaskState): void => {
    to.toSchedule.shift();
    to.calls++;
    to.exists = false;
    to.known[id] = 'here';
  };
  // The caller tries again. If a worker has done the task meanwhile, it is scheduled a second time.
  const lost = (to: TaskState): void => {
    to.repeated[id] = true;
    to.calls++;
    to.exists = false;
  };
  if (state.exists) {
    const keys = { due, lines, heads, leased, tasks, runs, dead, waits, operation };
    const call = {
      script: scheduleTasks,
      input: { keys, args: { conflict: 'keep', operationMs: OPERATION_MS, tasks: [id, `d${delayMs}`, record] } },
    };
    const done = (to: TaskState, [answer]: { status: string }[]): void => {
      scheduled(to);
      if (answer?.status === 'scheduled') to.begun[id] = 0;
    };
    return [{ actor: 'publisher', name: `schedule ${id} unless it exists`, call, done, lost }];
  }
  const keys = { due, tasks, waits, operation };
  const call = {
    script: scheduleTask,
    input: { keys, args: { id, when: `d${delayMs}`, record, operationMs: OPERATION_MS } },
  };
  const done = (to: TaskState, runAtMs: number): void => {
    if (runAtMs < 0) return void (to.exists = true);
    scheduled(to);
    to.begun[id] = 0;
  };
  return [{ actor: 'publisher', name: `schedule ${id}`, call, done, lost }];
}

const NO_LIMITS = { most: 0, windowMs: 0, groupMost: 0, groupStarts: 0, groupWindowMs: 0, ended: [] };

function takeStep(actor: string, { life, takes, takingSince }: Worker): Step<TaskState> {
  const token = `${actor}${life}.${takes}`;
  const taken = partition.taken(`${actor}${life}`);
  const keys = { due, lines, heads, leased, tasks, runs, dead, waits, taken, starts, pauses, places, rates };
  const call = {
    script: takeTasks,
    input: { keys, args: { token, limit: 2, leaseMs: LEASE_MS, ...NO_LIMITS } },
  };
  const done = (
    to: TaskState,
    reply: { tasks: readonly TakenTask[]; buried: readonly unknown[] },
    world: World,
  ): void => {
    const me = to.workers[actor] as Worker;
    const until = (takingSince || world.nowMs) + LEASE_MS;
    me.takingSince = 0;
    // The library has a new token for each take. A take that found nothing and that no late call can repeat left no trace, so its
    // token is used again: that makes fewer states.
    if (takingSince > 0 || reply.tasks.length + reply.buried.length > 0) me.takes++;
    // If the lease is over when the reply comes, other workers may have the tasks.
    if (world.nowMs >= until) return;
    for (const { id } of reply.tasks) {
      me.running.push({ id, token, until, outcome: '' });
      to.begun[id] = (to.begun[id] ?? 0) + 1;
      if (to.known[id] === 'gone' && !to.disturbed && !to.repeated[id])
        to.wrong = `${id} was done, cancelled or dropped, and runs again.`;
    }
  };
  const lost = (to: TaskState, world: World): void => {
    const me = to.workers[actor] as Worker;
    me.takingSince ||= world.nowMs;
    // The library repeats the call with its token until the lease would have ended.
    if (world.nowMs >= me.takingSince + LEASE_MS) Object.assign(me, { takingSince: 0, takes: me.takes + 1 });
  };
  return { actor, name: takingSince > 0 ? 'repeat the take' : 'take', call, done, lost };
}

function settleSteps(actor: string, worker: Worker, index: number): Step<TaskState>[] {
  const { id, token, outcome, until } = worker.running[index] as Running;
  const me = (to: TaskState): Worker => to.workers[actor] as Worker;
  const settled = (to: TaskState): void => void me(to).running.splice(index, 1);
  const step = (
    name: string,
    call: ScriptCall,
    done: Step<TaskState>['done'],
    sent?: Running['outcome'],
  ): Step<TaskState> => ({
    actor,
    name: `${name} ${id}`,
    call,
    done,
    lost: (to) => {
      const running = me(to).running[index] as Running;
      running.outcome = sent ?? running.outcome;
      if (sent === 'done') to.sentDone[id] = true;
    },
  });
  const steps: Step<TaskState>[] = [];
  if (outcome !== 'failed') {
    // A repeated call may have its first reply although a new task has the id.
    const gone = (to: TaskState, isDone: boolean, world: World): void => {
      settled(to);
      if (isDone && world.read('HEXISTS', tasks, id) === 0) to.known[id] = 'gone';
    };
    // One task keeps its result, the others do not.
    const args = { id, token, keepMs: 30_000, result: '1' };
    const keys = { leased, tasks, runs, waits, result: partition.result(id) };
    steps.push(
      id === 't1'
        ? step('complete', { script: completeTask, input: { keys, args } }, gone, 'done')
        : step(
            'acknowledge',
            { script: acknowledgeTasks, input: { keys: { leased, tasks, runs, waits }, args: { pairs: [id, token] } } },
            (to, reply: { done: number }, world) => gone(to, reply.done === 1, world),
            'done',
          ),
    );
  }
  if (outcome !== 'done') {
    const args = { id, token, delayMs: RETRY_MS, verdict: 'retry', error: 'no' };
    steps.push(
      step(
        'fail',
        { script: failTask, input: { keys: { due, leased, tasks, runs, dead, waits }, args } },
        settled,
        'failed',
      ),
    );
  }
  if (outcome === '' && worker.renewals > 0) {
    const renew = {
      script: renewTasks,
      input: { keys: { leased, runs }, args: { leaseMs: LEASE_MS, pairs: [id, token] } },
    };
    const renewed = (to: TaskState, { done }: { done: number }, world: World): void => {
      me(to).renewals--;
      (me(to).running[index] as Running).until = done === 1 ? world.nowMs + LEASE_MS : Math.min(until, world.nowMs);
    };
    steps.push(step('renew', renew, renewed));
  }
  return steps;
}

/** A worker that shuts down hands back what it has. */
export function handBack(actor: string, { running }: Worker): Step<TaskState> {
  const pairs = running.flatMap(({ id, token }) => [id, token]);
  const call = { script: releaseTasks, input: { keys: { due, leased, runs, waits }, args: { pairs } } };
  const done = (to: TaskState, reply: { lost: readonly string[] }): void => {
    to.budgets.handBack = 0;
    for (const { id } of running) if (!reply.lost.includes(id)) to.begun[id] = (to.begun[id] ?? 1) - 1;
    (to.workers[actor] as Worker).running = [];
  };
  return { actor, name: 'hand back', call, done };
}

function sweepStep(): Step<TaskState> {
  const args = { retentionMs: 60_000, leaseMs: LEASE_MS, taskCursor: '0', runCursor: '0', count: 10 };
  const keys = { due, lines, heads, leased, tasks, runs, dead, waits };
  const call = { script: sweepTasks, input: { keys, args } };
  return { actor: 'sweeper', name: 'sweep', call, done: (to) => void (to.budgets.sweep = (to.budgets.sweep ?? 1) - 1) };
}

export function stepsOf(state: TaskState, settings: Settings): Step<TaskState>[] {
  const steps = [...publisherSteps(state, settings)];
  for (const [actor, worker] of Object.entries(state.workers)) {
    const isFree = worker.running.length === 0;
    if (isFree) steps.push(takeStep(actor, worker));
    for (let index = 0; index < worker.running.length; index++) steps.push(...settleSteps(actor, worker, index));
    if (!isFree && (state.budgets.handBack ?? 0) > 0) steps.push(handBack(actor, worker));
  }
  if ((state.budgets.sweep ?? 0) > 0) steps.push(sweepStep());
  return [...steps, ...operatorSteps(state)];
}
