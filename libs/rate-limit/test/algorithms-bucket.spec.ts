import { ALGORITHMS, type AlgorithmInput, type State } from '../src/limiter/algorithms';

const NOW_US = 5_000_000;
const algorithm = ALGORITHMS['token-bucket'];

type Bucket = Extract<State, { kind: 'token-bucket' }>;
type Lows = [us: number, level: number][];

const lowsOf = (lows: Lows): Bucket['lows'] => lows.map(([us, level]) => ({ us, level }));

function bucketOf(level: number, us = NOW_US, lows: Lows = [], emptyUs = 4_000_000): Bucket {
  return { kind: 'token-bucket', level, us, emptyUs, lows: lowsOf(lows) };
}

/** One hit drains in 100 ms, and five fit. */
function inputOf(input: Partial<AlgorithmInput> = {}): AlgorithmInput {
  return { limit: 10, windowMs: 1_000, cost: 2, capacity: 5, nowUs: NOW_US, ...input };
}

function see(state: State | undefined, input: Partial<AlgorithmInput> = {}) {
  const found = algorithm.look(state, inputOf(input));
  const { used, resetMs, nextMs, retryMs } = found;
  return { seen: { used, resetMs, nextMs, retryMs }, charged: found.charge() };
}

describe('a token bucket', () => {
  const empty = {
    seen: { used: 0, resetMs: 0, nextMs: 0, retryMs: 1 },
    charged: { state: bucketOf(2, NOW_US, [], NOW_US), resetMs: 200, nextMs: 100 },
  };

  it('is empty at first, and when it has drained', () => {
    expect(see(undefined)).toEqual(empty);
    expect(see(bucketOf(1, 4_900_000, [[4_800_000, 1]]))).toEqual(empty);
  });

  it('drains evenly, and notes its level before a charge', () => {
    expect(see(bucketOf(4, 4_900_000))).toEqual({
      seen: { used: 3, resetMs: 300, nextMs: 100, retryMs: 1 },
      charged: { state: bucketOf(5, NOW_US, [[NOW_US, 3]]), resetMs: 500, nextMs: 100 },
    });
    expect(see(bucketOf(2.5)).seen).toMatchObject({ used: 2.5, resetMs: 250, nextMs: 50 });
  });

  it('does not drain while the clock is behind its last change', () => {
    expect(see(bucketOf(3, 5_500_000)).seen.used).toBe(3);
  });

  it('waits until the cost fits', () => {
    expect([2, 3, 4].map((cost) => see(bucketOf(3), { cost }).seen.retryMs)).toEqual([1, 100, 200]);
  });

  it('counts at most its capacity', () => {
    expect(see(bucketOf(7)).seen).toEqual({ used: 5, resetMs: 500, nextMs: 100, retryMs: 200 });
  });

  it('waits for a window if its limit is 0, and never longer than 1e13 ms', () => {
    expect(see(undefined, { limit: 0, capacity: 0 }).seen.retryMs).toBe(1_000);
    const slow = { limit: 1, windowMs: 34_560_000_000, capacity: 1_000_000_000, cost: 1_000_000_000 };
    expect(see(undefined, slow).charged.resetMs).toBe(1e13);
  });

  it('keeps only the notes of lower levels', () => {
    const lowsAfter = (lows: Lows): unknown => (see(bucketOf(3, NOW_US, lows)).charged.state as Bucket).lows;
    expect(
      lowsAfter([
        [4_900_000, 4],
        [4_800_000, 3],
        [4_700_000, 1],
      ]),
    ).toEqual(
      lowsOf([
        [NOW_US, 3],
        [4_700_000, 1],
      ]),
    );
    expect(lowsAfter([[4_900_000, 4]])).toEqual(lowsOf([[NOW_US, 3]]));
    expect(
      lowsAfter([
        [NOW_US, 2],
        [4_700_000, 1],
      ]),
    ).toEqual(
      lowsOf([
        [NOW_US, 2],
        [4_700_000, 1],
      ]),
    );
  });

  it('rounds the noted level down to four places', () => {
    const { state } = see(bucketOf(1.23456)).charged;
    expect((state as Bucket).lows).toEqual(lowsOf([[NOW_US, 1.2345]]));
  });

  it('keeps eight notes, the two oldest as one', () => {
    const lows = (count: number): Lows =>
      Array.from({ length: count }, (_, i) => [4_900_000 - i * 10_000, (20 - i) / 10]);
    const after = (count: number): unknown => (see(bucketOf(3, NOW_US, lows(count))).charged.state as Bucket).lows;
    expect(after(7)).toEqual(lowsOf([[NOW_US, 3], ...lows(7)]));
    expect(after(8)).toEqual(lowsOf([[NOW_US, 3], ...lows(6), [4_840_000, 1.3]]));
  });
});

describe('a refund of a token bucket', () => {
  const give = (state: State | undefined, chargedUs: number, cost = 2) =>
    algorithm.refund(state, inputOf({ cost }), chargedUs);

  it('lowers the level', () => {
    expect(give(bucketOf(3), 4_800_000)).toEqual({ state: bucketOf(1), given: 2 });
    expect(give(bucketOf(3), 4_800_000, 9)).toEqual({ state: bucketOf(0), given: 3 });
  });

  it('gives nothing for a charge before the bucket was last empty', () => {
    const state = bucketOf(3, NOW_US, [], 4_800_000);
    expect(give(state, 4_799_999)).toEqual({ state, given: 0 });
    expect(give(state, 4_800_000).given).toBe(2);
  });

  it('gives at most the lowest level since the charge, or what cannot have drained since', () => {
    const state = bucketOf(3, NOW_US, [
      [4_900_000, 0.5],
      [4_800_000, 0.1],
      [4_700_000, 0.05],
    ]);
    expect(give(state, 4_800_000)).toEqual({
      state: bucketOf(2, NOW_US, [
        [4_900_000, 0],
        [4_800_000, 0.1],
        [4_700_000, 0.05],
      ]),
      given: 1,
    });
    expect(give(bucketOf(3, NOW_US, [[4_900_000, 1.5]]), 4_800_000)).toEqual({
      state: bucketOf(1.5, NOW_US, [[4_900_000, 0]]),
      given: 2,
    });
  });

  it('reports whole hits', () => {
    expect([0.4, 0.5].map((level) => give(bucketOf(level), 4_800_000).given)).toEqual([0, 1]);
  });

  it('gives nothing without a level', () => {
    expect(give(undefined, 6_000_000)).toEqual({ state: undefined, given: 0 });
    expect(give(bucketOf(3), 4_800_000, 0)).toEqual({ state: bucketOf(3), given: 0 });
  });
});
