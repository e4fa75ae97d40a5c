import type { Protocol } from '../engine/protocol';
import { invariants, remember } from './delayed-task-invariants';
import { operatorMoves } from './delayed-task-operator';
import { partition, type Settings, type TaskState, type Worker } from './delayed-task-state';
import { stepsOf } from './delayed-task-steps';

const { due, leased, runs } = partition;

export function delayedTask(settings: Settings): Protocol<TaskState> {
  const { scenario, budgets, workers, renewals = 0, depth } = settings;
  return {
    name: 'delayed-task',
    scenario,
    depth,
    about: `A publisher schedules tasks, workers take, renew, settle and hand back, an operator pages through the dead letters, \
replays, drops and cancels, and a sweeper repairs. Calls are the library's definitions and keys. The model begins where Taker, \
Settlements, Leases and DeadLetters decide what comes next: a lost take or outcome is repeated with its token.`,
    begin: () => ({
      budgets: { ...budgets },
      late: [],
      disturbed: false,
      toSchedule: Object.entries(settings.tasks).map(([id, { delayMs }]): [string, number] => [id, delayMs]),
      calls: 0,
      exists: false,
      workers: Object.fromEntries(
        workers.map((name): [string, Worker] => [name, { life: 1, takes: 1, takingSince: 0, running: [], renewals }]),
      ),
      operator: { phase: 'idle', operations: 0, mustSee: {}, seen: [], cursor: [0, 0, ''] },
      begun: {},
      known: {},
      repeated: {},
      sentDone: {},
    }),
    steps: (state) => stepsOf(state, settings),
    moves: operatorMoves,
    deadlines: (state, world) => [
      ...Object.values(state.workers).flatMap(({ running }) => running.map(({ until }) => until)),
      ...[due, leased]
        .flatMap((key) =>
          (world.read('ZRANGE', key, '0', '-1', 'WITHSCORES') as string[]).filter((_, index) => index % 2 === 1),
        )
        .map(Number),
    ],
    actors: workers,
    crash: (state, actor) => {
      const worker = state.workers[actor] as Worker;
      if (worker.running.length === 0 && worker.takingSince === 0) return false;
      Object.assign(worker, { life: worker.life + 1, takes: 1, takingSince: 0, running: [] });
      return true;
    },
    evictable: (key) => [due, leased, runs].includes(key),
    observe: remember,
    invariants: invariants(settings),
    unsettled: (state, world) => {
      if (state.toSchedule.length > 0) return `${state.toSchedule.length} tasks are not scheduled.`;
      if (Object.values(state.workers).some(({ running }) => running.length > 0)) return 'A worker has a task.';
      const waiting = (world.read('ZCARD', due) as number) + (world.read('ZCARD', leased) as number);
      return waiting === 0 ? undefined : `${waiting} tasks are due or leased.`;
    },
  };
}

export const delayedTaskScenarios = [
  delayedTask({
    scenario: 'workers',
    tasks: { t1: { delayMs: 0, attempts: 2 }, t2: { delayMs: 300, attempts: 1 } },
    workers: ['W', 'X'],
    renewals: 1,
    budgets: { time: 4, lost: 1, late: 1, crash: 1 },
    depth: 12,
  }),
  delayedTask({
    scenario: 'operator',
    tasks: { t1: { delayMs: 0, attempts: 1 }, t2: { delayMs: 0, attempts: 1 } },
    workers: ['W'],
    budgets: { time: 3, lost: 1, crash: 1, cancel: 1, replay: 1, drop: 1, list: 1, handBack: 1 },
    depth: 12,
  }),
  delayedTask({
    scenario: 'eviction and failover',
    tasks: { t1: { delayMs: 0, attempts: 2 }, t2: { delayMs: 0, attempts: 2 } },
    workers: ['W', 'X'],
    budgets: { time: 3, evict: 1, failover: 1, sweep: 2 },
    depth: 12,
  }),
];
