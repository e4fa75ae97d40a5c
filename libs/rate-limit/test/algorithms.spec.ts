import { ALGORITHMS, type AlgorithmInput, type State } from '../src/limiter/algorithms';
import type { RateLimitAlgorithm } from '../src/rules/rule';

const NOW_US = 5_000_000;

type Input = Partial<AlgorithmInput>;

function inputOf(input: Input): AlgorithmInput {
  const { limit = 10 } = input;
  return { limit, windowMs: 1_000, cost: 1, capacity: limit, nowUs: NOW_US, ...input };
}

function look(algorithm: RateLimitAlgorithm, state: State | undefined, input: Input) {
  const found = ALGORITHMS[algorithm].look(state, inputOf(input));
  const { used, resetMs, nextMs, retryMs } = found;
  return { seen: { used, resetMs, nextMs, retryMs }, charged: found.charge() };
}

function refund(
  state: State | undefined,
  charge: number,
  input: Input = {},
  algorithm = state?.kind ?? 'fixed-window',
) {
  return ALGORITHMS[algorithm].refund(state, inputOf(input), charge);
}

describe('a fixed window', () => {
  const window = (count: number, endsMs: number): State => ({ kind: 'fixed-window', count, endsMs });
  const at = { nowUs: NOW_US + 999, cost: 2 };
  const empty = {
    seen: { used: 0, resetMs: 0, nextMs: 0, retryMs: 1_000 },
    charged: { state: window(2, 6_000), resetMs: 1_000, nextMs: 1_000 },
  };

  it('begins with the first charge', () => {
    expect(look('fixed-window', undefined, at)).toEqual(empty);
    expect(look('fixed-window', undefined, { ...at, cost: 0 }).charged).toMatchObject({ resetMs: 0, nextMs: 0 });
  });

  it('keeps its end when more is charged', () => {
    expect(look('fixed-window', window(3, 5_400), at)).toEqual({
      seen: { used: 3, resetMs: 400, nextMs: 400, retryMs: 400 },
      charged: { state: window(5, 5_400), resetMs: 400, nextMs: 400 },
    });
  });

  it('counts until its last millisecond', () => {
    expect(look('fixed-window', window(3, 5_001), at).seen).toMatchObject({ used: 3, resetMs: 1 });
    expect(look('fixed-window', window(3, 5_000), at)).toEqual(empty);
  });

  it('without hits begins again', () => {
    expect(look('fixed-window', window(0, 5_400), at)).toEqual(empty);
  });

  it('ends at most a window from now, also after the clock was set back', () => {
    const { seen, charged } = look('fixed-window', window(3, 9_000), at);
    expect([seen.resetMs, charged.state]).toEqual([1_000, window(5, 6_000)]);
  });

  it('returns hits of the same window, at most those it has', () => {
    const left = [3, 2, 1].map((count) => refund(window(count, 5_400), 5_400, at));
    expect(left).toEqual([
      { state: window(1, 5_400), given: 2 },
      { state: undefined, given: 2 },
      { state: undefined, given: 1 },
    ]);
    expect(refund(window(3, 5_001), 5_001, at).given).toBe(2);
  });

  it('returns no hits of another or an ended window', () => {
    for (const [endsMs, charge] of [
      [5_400, 5_300],
      [5_000, 5_000],
    ] as const)
      expect(refund(window(3, endsMs), charge, at)).toEqual({ state: window(3, endsMs), given: 0 });
    expect(refund(undefined, 5_400, at)).toEqual({ state: undefined, given: 0 });
  });
});

describe('a sliding window', () => {
  const windows = (last: number, current: number, previous: number): State => ({
    kind: 'sliding-window',
    ...{ last, current, previous },
  });
  const at = { nowUs: 5_250_000 };
  const see = (state: State | undefined, input: Input = {}) => look('sliding-window', state, { ...at, ...input });

  it('without hits charges the current window', () => {
    expect(see(undefined)).toEqual({
      seen: { used: 0, resetMs: 0, nextMs: 0, retryMs: 0 },
      charged: { state: windows(5, 1, 0), resetMs: 1_750, nextMs: 1_750 },
    });
  });

  it('counts three quarters of the previous hits after a quarter of the window', () => {
    expect(see(windows(4, 8, 9), { limit: 6 })).toEqual({
      seen: { used: 6, resetMs: 750, nextMs: 125, retryMs: 125 },
      charged: { state: windows(5, 1, 8), resetMs: 1_750, nextMs: 250 },
    });
    expect(see(windows(5, 4, 4)).seen).toMatchObject({ used: 7, resetMs: 1_750 });
  });

  it('waits for the next window if the current one has too many hits', () => {
    expect(see(windows(5, 5, 0), { limit: 4, cost: 2 }).seen.retryMs).toBe(1_350);
    expect(see(windows(5, 5, 0), { limit: 4, cost: 5 }).seen.retryMs).toBe(750);
  });

  it('keeps a window that is one ahead of the clock, and forgets others', () => {
    expect(see(windows(6, 2, 0)).charged.state).toEqual(windows(6, 3, 0));
    for (const last of [3, 7]) expect(see(windows(last, 2, 2)).charged.state).toEqual(windows(5, 1, 0));
  });

  it('returns hits to the window that was charged', () => {
    const seen = [5_100_000, 4_900_000, 3_900_000, 6_100_000].map((us) => refund(windows(5, 4, 2), us, at));
    expect(seen).toEqual([
      { state: windows(5, 3, 2), given: 1 },
      { state: windows(5, 4, 1), given: 1 },
      { state: windows(5, 4, 2), given: 0 },
      { state: windows(5, 4, 2), given: 0 },
    ]);
    expect(refund(windows(5, 4, 2), 5_100_000, { ...at, cost: 9 })).toEqual({ state: windows(5, 0, 2), given: 4 });
  });

  it('returns hits until the end of the window after it', () => {
    expect(refund(windows(3, 4, 0), 3_500_000, { nowUs: 4_999_999 }).given).toBe(1);
    expect(refund(windows(3, 4, 0), 3_500_000)).toEqual({ state: undefined, given: 0 });
    expect(refund(undefined, 1, {}, 'sliding-window')).toEqual({ state: undefined, given: 0 });
  });
});

describe('a sliding log', () => {
  const log = (...hits: [us: number, cost: number][]): State => ({
    kind: 'sliding-log',
    hits: hits.map(([us, cost]) => ({ us, cost })),
  });
  const full = log([4_000_000, 7], [4_000_001, 1], [4_600_500, 2]);
  const see = (cost: number, state: State | undefined = full) => look('sliding-log', state, { limit: 4, cost });

  it('counts the hits since a window ago', () => {
    expect(see(2)).toEqual({
      seen: { used: 3, resetMs: 601, nextMs: 1, retryMs: 1 },
      charged: {
        state: log([4_000_001, 1], [4_600_500, 2], [NOW_US, 2]),
        ...{ resetMs: 1_000, nextMs: 1 },
      },
    });
  });

  it('waits until enough hits are old', () => {
    expect([1, 2, 3, 4, 5].map((cost) => see(cost).seen.retryMs)).toEqual([1_000, 1, 601, 601, 601]);
  });

  it('without hits has nothing to wait for', () => {
    expect(look('sliding-log', undefined, { limit: 4 })).toEqual({
      seen: { used: 0, resetMs: 0, nextMs: 0, retryMs: 1_000 },
      charged: { state: log([NOW_US, 1]), resetMs: 1_000, nextMs: 1_000 },
    });
  });

  it('returns the one hit of the same time and cost', () => {
    const hits = log([4_600_000, 1], [4_600_000, 2], [4_600_000, 2]);
    expect(refund(hits, 4_600_000, { cost: 2 })).toEqual({ state: log([4_600_000, 1], [4_600_000, 2]), given: 2 });
    expect(refund(hits, 4_600_000, { cost: 3 })).toEqual({ state: hits, given: 0 });
    expect(refund(hits, 4_600_001, { cost: 2 })).toEqual({ state: hits, given: 0 });
  });

  it('returns no hit that counts no more', () => {
    expect(refund(full, 4_000_000, { cost: 7 }).given).toBe(0);
    expect(refund(full, 4_000_001).given).toBe(1);
    expect(refund(undefined, 4_000_001, {}, 'sliding-log')).toEqual({ state: undefined, given: 0 });
  });
});
