import type { Invariant, Protocol } from '../engine/protocol';
import { KEYS, type Process, type LockState, type Settings, stepsOf, movesOf } from './lock-steps';

function workers(state: LockState, nowMs: number): [string, Process][] {
  return Object.entries(state.processes).filter(([, { phase, until }]) => phase === 'working' && until > nowMs);
}

const invariants: readonly Invariant<LockState>[] = [
  {
    words:
      'Two processes never hold the lock at once, by their own clocks. After an eviction, a failover or a forced unlock, only fences are promised.',
    broken: (state, world) => {
      const names = workers(state, world.nowMs).map(([name]) => name);
      return names.length < 2 || state.disturbed ? undefined : `${names.join(' and ')} hold it.`;
    },
  },
  {
    words: 'While a process holds the lock, Redis has its owner token and its fence. The same condition.',
    broken: (state, world) => {
      if (state.disturbed) return undefined;
      const value = (world.read('GET', KEYS.lock) ?? '') as string;
      const wrong = workers(state, world.nowMs).find(
        ([name, { token, fence }]) => value.slice(30) !== `${name}#${token}` || Number(value.slice(14, 30)) !== fence,
      );
      return wrong && `${wrong[0]} holds the lock, and Redis has ${value}.`;
    },
  },
  {
    words:
      'A fence is higher than all fences before it, and a free lock goes to the process that has waited longest. Checked at each grant.',
    broken: () => undefined,
  },
  {
    words: 'The keys have a TTL, from their first write.',
    broken: (_state, world) => world.db.keys().find((key) => world.db.expiryOf(key) == null),
  },
];

export function lock(settings: Settings): Protocol<LockState> {
  const { scenario, budgets, processes, rounds = 1, renewals = 0, depth } = settings;
  return {
    name: 'lock',
    scenario,
    depth,
    about: `Processes acquire, wait, renew and release one lock; an operator forces it open. Calls and owner tokens are made by LockCalls, as Acquirer and WaitQueue use it. The model begins where these decide: which call comes next is the table in stepsOf(). A process that waits may try at any time, which includes all wake-ups and pauses.`,
    begin: () => ({
      budgets: { ...budgets },
      late: [],
      disturbed: false,
      processes: Object.fromEntries(
        Object.keys(processes).map((name): [string, Process] => [
          name,
          { phase: 'idle', rounds, renewals, token: 1, fence: 0, until: 0, since: 0, validUntil: 0 },
        ]),
      ),
      highest: 0,
    }),
    steps: (state) => stepsOf(state, settings),
    moves: (state) => movesOf(state, settings),
    deadlines: (state, world) => [
      ...Object.values(state.processes).map(({ until }) => until),
      Number(((world.read('GET', KEYS.lock) ?? '0') as string).slice(0, 13)),
      ...((world.read('HVALS', KEYS.queue) ?? []) as string[]).map((ticket) => Number(ticket.slice(16))),
    ],
    actors: Object.keys(processes),
    crash: (state, actor) => {
      const process = state.processes[actor] as Process;
      if (process.phase === 'over' || (process.phase === 'idle' && process.token === 1)) return false;
      Object.assign(process, { phase: 'over', until: 0, fence: 0, renewals: 0, rounds: 0 });
      return true;
    },
    evictable: (key) => key === KEYS.lock || key === KEYS.queue,
    invariants,
    unsettled: (state) => {
      const stuck = Object.entries(state.processes).find(([, { phase }]) => phase !== 'over');
      return stuck && `${stuck[0]} is ${stuck[1].phase}.`;
    },
  };
}

export const lockScenarios = [
  lock({
    scenario: 'queue',
    processes: { A: 'waits', B: 'waits', C: 'gives up' },
    budgets: { time: 5, lost: 1, late: 1 },
    depth: 14,
  }),
  lock({
    scenario: 'renewal and crashes',
    processes: { A: 'waits', B: 'waits', C: 'skips' },
    renewals: 1,
    budgets: { time: 5, lost: 1, crash: 1 },
    depth: 14,
  }),
  lock({
    scenario: 'rounds',
    processes: { A: 'waits', B: 'gives up' },
    rounds: 2,
    renewals: 1,
    budgets: { time: 6, lost: 1, late: 1, force: 1 },
    depth: 16,
  }),
  lock({
    scenario: 'eviction and failover',
    processes: { A: 'waits', B: 'skips' },
    rounds: 2,
    budgets: { time: 5, lost: 1, evict: 1, failover: 1, force: 1 },
    depth: 14,
  }),
];
