import type { Invariant, Protocol } from '../engine/protocol';
import { BEGIN_MS } from '../engine/world';
import { PERIOD_MS, KEYS, type Node, type JobState, type Settings, stepsOf } from './scheduled-lock-steps';

const invariants: readonly Invariant<JobState>[] = [
  {
    words: 'Two nodes never run the job at once, by their own clocks. Not promised after an eviction or a failover.',
    broken: (state, world) => {
      const running = Object.entries(state.nodes).filter(
        ([, { phase, until }]) => phase === 'running' && until > world.nowMs,
      );
      return running.length < 2 || state.disturbed
        ? undefined
        : `${running.map(([name]) => name).join(' and ')} run it.`;
    },
  },
  {
    words:
      'A slot whose run has ended does not run again, and a fence is higher than all before it. The same condition. Checked at each claim.',
    broken: () => undefined,
  },
  {
    words: 'The keys have a TTL, from their first write.',
    broken: (_state, world) => world.db.keys().find((key) => world.db.expiryOf(key) == null),
  },
];

export function scheduledLock(settings: Settings): Protocol<JobState> {
  const { scenario, budgets, nodes, kind, ticks, catchUps = 0, renewals = 0, depth } = settings;
  const instants = Array.from({ length: ticks }, (_, n) => BEGIN_MS + (kind === 'cron' ? n * PERIOD_MS : 0));
  return {
    name: 'scheduled-lock',
    scenario,
    depth,
    about: `Nodes tick for the slots of a job, run it, renew, complete, and catch up slots of runs that died. Calls are the \
library's definitions. The model begins where Claims, Run and CatchUps decide what comes next: a claim whose reply was lost is \
given back.`,
    begin: () => ({
      budgets: { ...budgets },
      late: [],
      disturbed: false,
      nodes: Object.fromEntries(
        nodes.map((name): [string, Node] => [
          name,
          {
            phase: 'idle',
            ticks: [...instants],
            catchUps,
            owner: 1,
            mode: 'tick',
            slot: 0,
            fence: 0,
            until: 0,
            renewals,
          },
        ]),
      ),
      slots: {},
      fence: 0,
    }),
    steps: (state, world) => stepsOf(state, settings, world),
    deadlines: (state, world) => [
      Number(world.read('HGET', KEYS.state, 'till') ?? 0),
      ...Object.values(state.nodes).flatMap(({ until, ticks: left }) => [until, ...left]),
      ...Object.keys(state.slots).map((slot) => Number(slot) + PERIOD_MS),
    ],
    actors: nodes,
    crash: (state, actor) => {
      const node = state.nodes[actor] as Node;
      if (node.phase === 'idle') return false;
      Object.assign(node, { phase: 'idle', slot: 0, fence: 0, until: 0, owner: node.owner + 1 });
      return true;
    },
    evictable: (key) => key === KEYS.state,
    invariants,
    unsettled: (state) => {
      const busy = Object.entries(state.nodes).find(
        ([, { phase, ticks: left }]) => phase !== 'idle' || left.length > 0,
      );
      return busy && `${busy[0]} is ${busy[1].phase}, with ${busy[1].ticks.length} ticks to come.`;
    },
  };
}

export const scheduledLockScenarios = [
  scheduledLock({
    scenario: 'cron with catch-up',
    kind: 'cron',
    nodes: ['N', 'M', 'O'],
    ticks: 2,
    catchUps: 1,
    renewals: 1,
    budgets: { time: 4, lost: 1, late: 1, crash: 1 },
    depth: 10,
  }),
  scheduledLock({
    scenario: 'interval',
    kind: 'interval',
    nodes: ['N', 'M'],
    ticks: 2,
    catchUps: 1,
    renewals: 1,
    budgets: { time: 5, lost: 1, late: 1, crash: 1 },
    depth: 11,
  }),
  scheduledLock({
    scenario: 'eviction and failover',
    kind: 'cron',
    nodes: ['N', 'M'],
    ticks: 2,
    catchUps: 1,
    budgets: { time: 4, lost: 1, evict: 1, failover: 1 },
    depth: 10,
  }),
];
