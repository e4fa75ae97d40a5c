import type { Invariant, Protocol } from '../engine/protocol';
import { STATE, type Reader, type RewardState, type Settings, stepsOf } from './read-reward-steps';

function invariantsOf({ limit }: Settings): Invariant<RewardState>[] {
  return [
    {
      words:
        'In each period the user gets points for at most the limit of items, and for an item once; refunded grants do not count. Not promised after an eviction or a failover.',
      broken: ({ grants, disturbed }) => {
        if (disturbed) return undefined;
        const kept = grants.filter(({ refunded }) => !refunded);
        for (const { start, item } of kept) {
          const same = kept.filter((grant) => grant.start === start);
          if (same.length > limit) return `${same.length} items in the period ${start}.`;
          if (same.filter((grant) => grant.item === item).length > 1)
            return `${item} counts twice in the period ${start}.`;
        }
        return undefined;
      },
    },
    {
      words: 'Redis has each grant that was given in its period and not refunded. The same condition.',
      broken: ({ grants, disturbed }, world) => {
        const head = world.read('HGET', STATE, '') as string | null;
        if (disturbed || head === null) return undefined;
        const from = Number(head.split(':')[0]);
        const lost = grants.find(
          ({ start, item, seq, refunded }) =>
            !refunded &&
            start === from &&
            (world.read('HGET', STATE, item) as string | null)?.split(':')[0] !== String(seq),
        );
        return lost && `The grant ${lost.seq} for ${lost.item} is lost.`;
      },
    },
    {
      words: 'The period of a user never goes back. The same condition. The keys have a TTL, from their first write.',
      broken: (_state, world) => world.db.keys().find((key) => world.db.expiryOf(key) == null),
    },
  ];
}

export function readReward(settings: Settings): Protocol<RewardState> {
  const { scenario, budgets, readers, depth } = settings;
  return {
    name: 'read-reward',
    scenario,
    depth,
    about: `Reads of one user by processes whose clocks differ, refunds, and the change of periods. Calls are the library's \
definitions and keys. The model begins where ReadRecorder decides which script to send: \`record\`, and \`record-fully\` where it \
cannot decide or for an operation id. Periods are 1 s long instead of days.`,
    begin: () => ({
      budgets: { ...budgets },
      late: [],
      disturbed: false,
      readers: Object.fromEntries(
        Object.entries(readers).map(([name, { items, skewMs }]): [string, Reader] => [
          name,
          { phase: 'reads', items: [...items], skewMs, calls: 1, grant: 0 },
        ]),
      ),
      grants: [],
      from: 0,
    }),
    steps: (state, world) => stepsOf(state, settings, world),
    deadlines: (_state, world) => [world.nowMs - (world.nowMs % 500) + 500],
    evictable: (key) => key === STATE,
    observe: (state, world) => {
      const from = Number(((world.read('HGET', STATE, '') ?? '0') as string).split(':')[0]);
      if (from < state.from && from > 0 && !state.disturbed)
        state.wrong = `The period went back from ${state.from} to ${from}.`;
      state.from = Math.max(from, state.from);
    },
    invariants: invariantsOf(settings),
    unsettled: (state) => Object.keys(state.readers).find((name) => state.readers[name]?.phase !== 'over'),
  };
}

const two = { A: { items: ['i', 'j'], skewMs: 0 }, B: { items: ['i', 'k'], skewMs: -400 } };

export const readRewardScenarios = [
  readReward({
    scenario: 'periods and clocks',
    limit: 2,
    readers: { ...two, C: { items: ['k'], skewMs: 600 } },
    budgets: { time: 4, lost: 1, late: 1 },
    depth: 10,
  }),
  readReward({
    scenario: 'refunds',
    limit: 1,
    readers: two,
    refunds: true,
    budgets: { time: 3, lost: 2, late: 1 },
    depth: 11,
  }),
  readReward({
    scenario: 'operations and far clocks',
    limit: 2,
    readers: { A: { items: ['i', 'j'], skewMs: 0 }, B: { items: ['i', 'k'], skewMs: -3_400 } },
    operations: true,
    budgets: { time: 4, lost: 2, late: 1 },
    depth: 11,
  }),
  readReward({
    scenario: 'eviction and failover',
    limit: 2,
    readers: two,
    refunds: true,
    budgets: { time: 3, lost: 1, evict: 1, failover: 1 },
    depth: 9,
  }),
];
