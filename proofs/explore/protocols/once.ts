import type { Invariant, Protocol } from '../engine/protocol';
import { type Worker, type OnceState, type Settings, KEY, look, stepsOf } from './once-steps';

const invariants: readonly Invariant<OnceState>[] = [
  {
    words:
      'Two workers never own the id at once, by their own clocks. After an eviction or a failover this is not promised.',
    broken: (state, world) => {
      const owners = Object.entries(state.workers).filter(
        ([, { phase, until }]) => phase === 'working' && until > world.nowMs,
      );
      return owners.length < 2 || state.disturbed ? undefined : `${owners.map(([name]) => name).join(' and ')} own it.`;
    },
  },
  {
    words:
      'A confirmed id stays done, with its first result, while Redis remembers it. A fence is higher than all before it. Checked at each reply.',
    broken: () => undefined,
  },
  {
    words: 'The key has a TTL, from its first write.',
    broken: (_state, world) => world.db.keys().find((key) => world.db.expiryOf(key) == null),
  },
];

const atMostOnce: Invariant<OnceState> = {
  words: 'With at-most-once, work begins at most once while Redis remembers the id.',
  broken: ({ begun, disturbed }) => (begun < 2 || disturbed ? undefined : `It began ${begun} times.`),
};

export function once(settings: Settings): Protocol<OnceState> {
  const { scenario, budgets, workers, delivery, failures = 0, renewals = 0, depth } = settings;
  return {
    name: 'once',
    scenario,
    depth,
    about: `Workers that got the same message claim its id, work, renew, and confirm or release. Calls are made by OnceStore. \
The model begins where Runner decides what comes next (stepsOf()), and a worker that crashes gets the message again.`,
    begin: () => ({
      budgets: { ...budgets },
      late: [],
      disturbed: false,
      workers: Object.fromEntries(
        workers.map((name): [string, Worker] => [name, { phase: 'ready', token: 1, fence: 0, until: 0, renewals }]),
      ),
      failures,
      begun: 0,
      fence: 0,
      result: undefined,
    }),
    observe: look,
    steps: (state) => stepsOf(state, settings),
    deadlines: (state, world) => [
      ...Object.values(state.workers).map(({ until }) => until),
      Number(((world.read('GET', KEY) ?? '') as string).slice(18, 31)),
    ],
    actors: workers,
    crash: (state, actor) => {
      const worker = state.workers[actor] as Worker;
      if (worker.phase === 'over' || (worker.phase === 'ready' && worker.token === 1)) return false;
      Object.assign(worker, { phase: 'ready', token: worker.token + 1, until: 0 });
      return true;
    },
    evictable: (key) => key === KEY,
    invariants: delivery === 'at-most-once' ? [...invariants, atMostOnce] : invariants,
    unsettled: (state) => {
      const stuck = Object.entries(state.workers).find(([, { phase }]) => phase !== 'over');
      return stuck && `${stuck[0]} is ${stuck[1].phase}.`;
    },
  };
}

const workers = ['A', 'B', 'C'];

export const onceScenarios = [
  once({
    scenario: 'at least once',
    workers,
    delivery: 'at-least-once',
    retentionMs: 3_000,
    failures: 1,
    renewals: 1,
    budgets: { time: 4, lost: 1, late: 1, crash: 1 },
    depth: 11,
  }),
  once({
    scenario: 'at most once',
    workers,
    delivery: 'at-most-once',
    retentionMs: 3_000,
    failures: 1,
    budgets: { time: 4, lost: 2, late: 1, crash: 1 },
    depth: 11,
  }),
  once({
    scenario: 'short retention and own tokens',
    workers,
    delivery: 'at-least-once',
    retentionMs: 500,
    keepsToken: true,
    failures: 1,
    renewals: 1,
    budgets: { time: 5, lost: 2, crash: 1 },
    depth: 11,
  }),
  once({
    scenario: 'eviction and failover',
    workers: ['A', 'B'],
    delivery: 'at-least-once',
    retentionMs: 3_000,
    failures: 1,
    budgets: { time: 4, lost: 1, crash: 1, evict: 1, failover: 1 },
    depth: 11,
  }),
];
