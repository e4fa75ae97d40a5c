import type { Address, Done, Preview, Section, SectionContext, Sentence, Target } from '../console.types';
import { parseFilter } from './filters';
import type { Queue, Task } from './queue-sentences';
import { say } from './sentences';
import { input, nothing, one, refused, unknownAddress, type Input } from './support';

/**
 * Limits for the preview of an action on all tasks. MOST_SAMPLES is the maximum number of ids that it shows. MOST_COUNTED is the maximum
 * number of tasks of a queue that it counts if there is a filter.
 */
const [MOST_SAMPLES, MOST_COUNTED] = [5, 256];
/** Latest instant that the action `move` accepts, ms since 1970: the year 5138. `luanest/delayed-task` allows only the next 100 years. */
const MAX_MS = 1e14;
const TASKS = ['tasks', 'dead', 'leases'];
const FILTERS = ['waiting', 'running', 'dead', 'queue:', 'name:', 'group:'];

/** The item that an action changes. */
type Subject =
  | { readonly kind: 'queue'; readonly queue: Queue }
  | { readonly kind: 'group'; readonly queue: Queue; readonly group: string }
  | { readonly kind: 'schedule'; readonly queue: Queue; readonly id: string }
  | { readonly kind: 'task'; readonly queue: Queue; readonly id: string };

interface Selection {
  readonly queues: readonly Queue[];
  readonly name?: string;
  readonly group?: string;
}

/** Returns the functions that preview and run the actions on queues. @param all all queues of the app */
export function queueActions(all: readonly Queue[], context: SectionContext): Pick<Section, 'preview' | 'run'> {
  return {
    async preview(action, target, given) {
      if (!('address' in target)) return previewAll(action, selectionOf(all, action, target));
      const subject = subjectOf(all, target.address);
      if (action === 'move') instantOf(given);
      return previewOne(action, subject);
    },
    async run(action, target, given, expected) {
      if (!('address' in target)) return { count: await runAll(action, selectionOf(all, action, target)) };
      return runOne(action, subjectOf(all, target.address), { ...given, nowMs: context.nowMs() }, expected);
    },
  };
}

/**
 * Returns the item at an address. Does not check that the item exists in Redis.
 *
 * @throws InvalidInputError if the address is not that of a queue, group, schedule or task
 */
function subjectOf(all: readonly Queue[], address: Address): Subject {
  const [, list = '', name, id] = address;
  const queue = all.find((each) => each.name === name);
  if (queue === undefined) return unknownAddress(address);
  if (list === 'queues' && address.length === 3) return { kind: 'queue', queue };
  if (id === undefined || address.length !== 4) return unknownAddress(address);
  if (list === 'groups') return { kind: 'group', queue, group: id };
  if (list === 'schedules') return { kind: 'schedule', queue, id };
  return TASKS.includes(list) ? { kind: 'task', queue, id } : unknownAddress(address);
}

/**
 * Returns the queues and the filter of an action that changes all tasks of a list.
 *
 * @throws InvalidInputError if the action does not fit the list or the filter
 */
function selectionOf(all: readonly Queue[], action: string, target: Exclude<Target, { address: Address }>): Selection {
  const [, list, of] = target.list;
  const { state, queue = of, name, group } = parseFilter(target.filter, FILTERS);
  const isFit =
    action === 'cancel' ? list === 'tasks' && (state ?? 'waiting') === 'waiting' : list === 'dead' || state === 'dead';
  if (!isFit) {
    throw input.error(
      `The action ${action} cannot be used on the list ${target.list.join('/')} with the filter "${target.filter ?? ''}". Choose another list or filter.`,
    );
  }
  if (action !== 'cancel' && group !== undefined) {
    throw input.error(`The action ${action} cannot select tasks by their group. Leave group: out of the filter.`);
  }
  const queues = queue === undefined ? all : all.filter((each) => each.name === queue);
  return { queues, ...(name !== undefined && { name }), ...(group !== undefined && { group }) };
}

async function previewAll(action: string, { queues, ...filter }: Selection): Promise<Preview> {
  const state = action === 'cancel' ? 'waiting' : 'dead';
  let [count, more] = [0, false];
  const samples: string[] = [];
  for (const queue of queues) {
    const [{ items, nextCursor }, stats] = await Promise.all([
      queue.queue.list({ state, ...filter, limit: MOST_COUNTED }),
      queue.queue.stats(),
    ]);
    const isAll = filter.name === undefined && filter.group === undefined;
    count += nextCursor !== undefined && isAll ? stats[state] : items.length;
    more ||= nextCursor !== undefined && !(isAll && state === 'dead');
    samples.push(...items.slice(0, MOST_SAMPLES).map(({ id }) => id));
  }
  return { count, more, samples: samples.slice(0, MOST_SAMPLES) };
}

async function runAll(action: string, { queues, ...filter }: Selection): Promise<number> {
  let count = 0;
  for (const { queue } of queues) {
    if (action === 'cancel') count += await queue.cancelAll(filter);
    else if (action === 'drop') count += await queue.dropAll(filter);
    else count += await queue.replayAll(filter);
  }
  return count;
}

async function previewOne(action: string, subject: Subject): Promise<Preview> {
  const { queue } = subject;
  if (subject.kind === 'queue' || subject.kind === 'group') {
    if (action !== 'pause' && action !== 'resume') return notFor(action, subject.kind);
    return one(subject.kind === 'queue' ? queue.name : subject.group);
  }
  if (subject.kind === 'schedule') {
    if (action !== 'run-now' && action !== 'remove') return notFor(action, subject.kind);
    const found = await queue.queue.getSchedule(subject.id);
    return found ? one(subject.id, undefined, JSON.stringify(found.rule)) : nothing(gone(subject.id));
  }
  const task = await queue.queue.get(subject.id);
  const problem = task === undefined ? gone(subject.id) : problemOf(action, task);
  return task === undefined || problem ? nothing(problem) : one(task.id, undefined, stateOf(task));
}

async function runOne(action: string, subject: Subject, given: Input, expected: string | undefined): Promise<Done> {
  const { queue } = subject.queue;
  if (subject.kind === 'queue' || subject.kind === 'group') {
    if (action !== 'pause' && action !== 'resume') return notFor(action, subject.kind);
    await queue[action](subject.kind === 'group' ? { group: subject.group } : {});
    return { count: 1 };
  }
  const { id } = subject;
  if (subject.kind === 'schedule') {
    if (action !== 'run-now' && action !== 'remove') return notFor(action, subject.kind);
    const found = await queue.getSchedule(id);
    if (found === undefined) return refused(gone(id));
    if (expected !== undefined && expected !== JSON.stringify(found.rule)) return refused(changed(id));
    if (action === 'remove') return (await queue.removeSchedule(id)) ? { count: 1 } : refused(gone(id));
    return (await subject.queue.runSchedule(id, Number(given.nowMs))) ? { count: 1 } : refused(gone(id));
  }
  const task = await queue.get(id);
  if (task === undefined) return refused(gone(id));
  if (expected !== undefined && expected !== stateOf(task)) return refused(changed(id));
  const problem = problemOf(action, task);
  if (problem) return refused(problem);
  return (await change(action, subject.queue, id, given)) ? { count: 1 } : refused(changed(id));
}

/** Runs an action on a task. @returns false if the task is no longer in a state that allows the action */
async function change(action: string, { queue }: Queue, id: string, given: Input): Promise<boolean> {
  if (action === 'retry') return (await queue.replay([id])) === 1;
  if (action === 'drop') return (await queue.drop([id])) === 1;
  if (action === 'cancel') return (await queue.cancel(id)) === 'cancelled';
  const time = action === 'move' ? { runAtMs: instantOf(given) } : {};
  return (await queue.reschedule(id, time)).status === 'rescheduled';
}

function instantOf({ atMs }: Input): number {
  return input.integer('atMs', atMs, 0, MAX_MS);
}

/**
 * Returns why an action is not possible in the current state of a task; undefined if it is possible.
 *
 * @throws InvalidInputError if the action is not for tasks
 */
function problemOf(action: string, { id, state }: Task): Sentence | undefined {
  const needs = { retry: 'dead', drop: 'dead', cancel: 'waiting', move: 'waiting', 'run-now': 'waiting' }[action];
  if (needs === undefined) return notFor(action, 'task');
  if (state === needs) return undefined;
  if (state === 'running') return say('task-runs', { id });
  return say('task-state-differs', { id, state, needs });
}

function stateOf({ state, attemptsMade, atMs }: Task): string {
  return `${state} ${attemptsMade} ${atMs}`;
}

function gone(id: string): Sentence {
  return say('queue-item-gone', { id });
}

function changed(id: string): Sentence {
  return say('queue-item-changed', { id });
}

function notFor(action: string, kind: string): never {
  throw input.error(`The action ${action} cannot be used on a ${kind}.`);
}
