import type { Invariant, Protocol } from '../engine/protocol';
import {
  WINDOW_MS,
  type Charge,
  type Request,
  type LimitState,
  type Settings,
  type Calls,
  callsOf,
  stepsOf,
  movesOf,
} from './rate-limit-steps';

/** Hits that count of the charges that began in [from, to). */
function hitsIn(charges: readonly Charge[], fromMs: number, toMs: number): number {
  return charges.reduce((sum, { atMs, cost, gone }) => (gone || atMs < fromMs || atMs >= toMs ? sum : sum + cost), 0);
}

function invariantsOf({ algorithm, limit }: Settings, state: string): Invariant<LimitState>[] {
  /** Most hits of a span of so many windows. */
  const most = (spans: number): number => {
    if (algorithm === 'sliding-log') return limit * Math.ceil(spans);
    return algorithm === 'token-bucket' ? limit + limit * spans : limit * (Math.ceil(spans) + 1);
  };
  const invariants: Invariant<LimitState>[] = [
    {
      words:
        'In any span of time, no more hits are allowed than the algorithm says; refunded hits and those before a reset are not \
counted. With a lost reply fewer hits may be allowed. Not promised after an eviction or a failover.',
      broken: ({ charges, disturbed }) => {
        if (disturbed) return undefined;
        for (const { atMs: fromMs } of charges) {
          for (const { atMs } of charges) {
            if (atMs < fromMs) continue;
            const hits = hitsIn(charges, fromMs, atMs + 1);
            if (hits > most((atMs - fromMs + 1) / WINDOW_MS) + 1e-9) return `${hits} hits in ${atMs - fromMs + 1} ms.`;
          }
        }
        return undefined;
      },
    },
    {
      words: 'The keys have a TTL, from their first write.',
      broken: (_state, world) => world.db.keys().find((key) => world.db.expiryOf(key) == null),
    },
  ];
  if (algorithm !== 'fixed-window') return invariants;
  return [
    ...invariants,
    {
      words:
        'A fixed window counts each hit that it allowed and that was not refunded, and allows at most the limit. Same conditions.',
      broken: ({ charges, disturbed }, world) => {
        const endsAtMs = world.db.expiryOf(state);
        if (disturbed || endsAtMs == null) return undefined;
        // 2^51 and more: the hits of a window after a reset.
        const counted = Number((world.read('GET', state) as string | null) ?? Infinity) % 2 ** 51;
        const live = charges.filter((charge) => !charge.gone && charge.endsAtMs === endsAtMs);
        const hits = live.reduce((sum, { cost }) => sum + cost, 0);
        return hits <= Math.min(counted, limit) ? undefined : `${hits} hits were allowed, ${counted} are counted.`;
      },
    },
  ];
}

export function rateLimit(settings: Settings): Protocol<LimitState> {
  const { scenario, budgets, requests, depth } = settings;
  const calls = Object.fromEntries(Object.entries(requests).map(([name, cost]) => [name, callsOf(settings, cost)]));
  const [any] = Object.values(calls) as [Calls];
  return {
    name: 'rate-limit',
    scenario,
    depth,
    about: `Requests of one user are charged, and some of them refunded; an operator resets the counter or blocks the user. \
Calls are made by RedisLimiter, and its functions read the replies and find the window of a refund. The model begins where a guard \
decides to refund.`,
    begin: () => ({
      budgets: { ...budgets },
      late: [],
      disturbed: false,
      requests: Object.fromEntries(
        Object.keys(requests).map((name): [string, Request] => [name, { phase: 'new', fromMs: 0 }]),
      ),
      charges: [],
    }),
    steps: (state) => stepsOf(state, calls),
    moves: (state) => movesOf(state, any),
    deadlines: (state) =>
      state.charges.flatMap(({ atMs, endsAtMs }) => [atMs + WINDOW_MS / 2, atMs + WINDOW_MS, endsAtMs]),
    evictable: (key) => key === any.state,
    invariants: invariantsOf(settings, any.state),
    unsettled: (state) => Object.keys(state.requests).find((name) => state.requests[name]?.phase !== 'over'),
  };
}

const requests = { A: 1, B: 2, C: 1, D: 1 };
const budgets = { time: 3, lost: 1, late: 1, reset: 1 };

export const rateLimitScenarios = [
  rateLimit({
    scenario: 'fixed window',
    algorithm: 'fixed-window',
    limit: 2,
    requests: { A: 1, B: 2, C: 1 },
    budgets: { ...budgets, block: 1 },
    depth: 13,
  }),
  rateLimit({ scenario: 'sliding window', algorithm: 'sliding-window', limit: 2, requests, budgets, depth: 12 }),
  rateLimit({
    scenario: 'sliding log',
    algorithm: 'sliding-log',
    limit: 3,
    requests,
    budgets: { ...budgets, block: 1 },
    depth: 12,
  }),
  rateLimit({ scenario: 'token bucket', algorithm: 'token-bucket', limit: 2, requests, budgets, depth: 12 }),
];
