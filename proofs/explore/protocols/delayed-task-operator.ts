import { cancelTask, clearDead, listTasks, type TaskRow } from '../../../libs/delayed-task/src/delayed-task.scripts';
import { OPERATION_MS } from '../../../libs/delayed-task/src/queue/task-queue';
import type { Move, Step } from '../engine/protocol';
import type { World } from '../engine/world';
import { partition, type TaskState } from './delayed-task-state';

const NEVER_MS = 10 ** 15 - 1;

type Verb = 'list' | 'replay' | 'drop';

/** The operator begins, or cancels a task. Nobody has to do this. */
export function operatorMoves(state: TaskState): Move<TaskState>[] {
  const { budgets, operator } = state;
  const moves: Move<TaskState>[] = (['list', 'replay', 'drop'] as const)
    .filter((verb) => operator.phase === 'idle' && (budgets[verb] ?? 0) > 0)
    .map((verb) => ({
      name: `the operator begins to ${verb} dead letters`,
      run: (world, next) => {
        next.budgets[verb] = 0;
        Object.assign(next.operator, { phase: verb, cursor: [NEVER_MS, 0, ''], seen: [] });
        const rows = world.read('ZRANGE', partition.dead, '0', '-1', 'WITHSCORES') as string[];
        next.operator.mustSee = {};
        for (let at = 0; at < rows.length; at += 2) next.operator.mustSee[rows[at] as string] = Number(rows[at + 1]);
      },
    }));
  if ((budgets.cancel ?? 0) === 0) return moves;
  for (const id of Object.keys(state.known)) {
    moves.push({
      name: `the operator cancels ${id}`,
      run: (world, next) => {
        next.budgets.cancel = 0;
        const { due, lines, heads, leased, tasks, runs, dead, operation, waits } = partition;
        const keys = { due, lines, heads, leased, tasks, runs, dead, operation: operation('c'), waits };
        const from = world.read('ZSCORE', dead, id) === null ? 'running' : 'dead';
        const input = { keys, args: { id, from, operationMs: OPERATION_MS } };
        if (world.call({ script: cancelTask, input }) === 'cancelled') next.known[id] = 'gone';
      },
    });
  }
  return moves;
}

export function operatorSteps(state: TaskState): Step<TaskState>[] {
  const { phase, cursor, operations } = state.operator;
  if (phase === 'idle') return [];
  const [untilMs, afterMs, afterId] = cursor;
  const { due, lines, heads, tasks, runs, dead, waits, operation } = partition;
  if (phase === 'list') {
    const call = {
      script: listTasks,
      input: { keys: { place: dead, tasks, runs }, args: { untilMs, afterMs, afterId, limit: 1 } },
    };
    return [{ actor: 'operator', name: 'read a page', call, done: readPage }];
  }
  const keys = { due, lines, heads, tasks, runs, dead, waits, operation: operation(`o${operations}`) };
  const args = { verb: phase, name: '', untilMs, afterMs, afterId, limit: 1, operationMs: OPERATION_MS };
  const name = `${phase} the next dead letter`;
  const done = (
    next: TaskState,
    reply: { done: number; untilMs: number; lastMs: number; lastId: string },
    world: World,
  ): void => cleared(next, phase, reply, world);
  // The script registry sends a call again with the same operation if it knows that it did not run; else the caller gets an error.
  const lost = (next: TaskState, world: World): void => {
    next.operator.phase = 'idle';
    next.operator.operations++;
    noteDropped(next, phase, world);
  };
  return [{ actor: 'operator', name, call: { script: clearDead, input: { keys, args } }, done, lost }];
}

function readPage(
  next: TaskState,
  { untilMs, rows }: { untilMs: number; rows: readonly TaskRow[] },
  world: World,
): void {
  const { operator } = next;
  const [row] = rows;
  if (row !== undefined) {
    const name = `${row.id}@${row.atMs}`;
    if (operator.seen.includes(name)) next.wrong = `The pages have ${name} twice.`;
    operator.seen.push(name);
    operator.cursor = [untilMs, row.atMs, row.id];
    return;
  }
  ended(next, 'list', world);
}

interface Cleared {
  readonly done: number;
  readonly untilMs: number;
  readonly lastMs: number;
  readonly lastId: string;
}

function noteDropped(next: TaskState, verb: Verb, world: World): void {
  if (verb !== 'drop') return;
  for (const id of Object.keys(next.known)) {
    if (world.read('HEXISTS', partition.tasks, id) === 0) next.known[id] = 'gone';
  }
}

function cleared(next: TaskState, verb: Verb, { done, untilMs, lastMs, lastId }: Cleared, world: World): void {
  const { operator } = next;
  operator.operations++;
  noteDropped(next, verb, world);
  operator.cursor = [untilMs, lastMs, lastId];
  if (done > 1) next.wrong = `A call with limit 1 cleared ${done} dead letters.`;
  if (lastId === '') ended(next, verb, world);
}

/** Every dead letter that was there from the begin, and did not change, must have been read, replayed or dropped. */
function ended(next: TaskState, verb: Verb, world: World): void {
  const { operator } = next;
  const missed = Object.entries(operator.mustSee)
    .filter(([id, atMs]) => Number(world.read('ZSCORE', partition.dead, id)) === atMs)
    .filter(([id, atMs]) => verb !== 'list' || !operator.seen.includes(`${id}@${atMs}`));
  if (missed.length > 0) next.wrong = `The operator's ${verb} missed ${missed.map(([id]) => id).join(', ')}.`;
  Object.assign(operator, { phase: 'idle', mustSee: {}, seen: [], cursor: [0, 0, ''] });
}
