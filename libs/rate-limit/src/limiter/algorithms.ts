import type { RateLimitAlgorithm } from '../rules/rule';

/** Input of an algorithm: the numbers of one rule for one request, and the present time, us since 1970. */
export interface AlgorithmInput {
  readonly limit: number;
  readonly windowMs: number;
  readonly cost: number;
  readonly capacity: number;
  readonly nowUs: number;
}

/** Counter of one subject (the client or user that is counted) under one rule. An algorithm ignores the state of another algorithm. */
export type State =
  | { readonly kind: 'fixed-window'; readonly count: number; readonly endsMs: number }
  | { readonly kind: 'sliding-window'; readonly last: number; readonly current: number; readonly previous: number }
  | { readonly kind: 'sliding-log'; readonly hits: readonly { readonly us: number; readonly cost: number }[] }
  | Bucket;

/**
 * Level of a token bucket just before a request was counted. A refund is computed from these levels. The level is the number of hits that
 * have not drained yet.
 * See DECISIONS.md: token-bucket-keeps-lows
 */
interface Low {
  readonly us: number;
  readonly level: number;
}

interface Bucket {
  readonly kind: 'token-bucket';
  readonly level: number;
  readonly us: number;
  /** Time at which the bucket was last empty, us. */
  readonly emptyUs: number;
  /** Levels just before the last counted requests, newest first. */
  readonly lows: readonly Low[];
}

const MAX_LOWS = 8;

interface Times {
  readonly resetMs: number;
  readonly nextMs: number;
}

/** Result of looking at a request with an algorithm: hits and times now, and a function that counts the request. */
export interface Look extends Times {
  readonly used: number;
  readonly retryMs: number;
  /** Returns the state and the times after the request is counted. Does not store the state. */
  charge(): { readonly state: State } & Times;
}

/** An algorithm that counts hits. Must give the same results as the Lua file of the same name. */
interface Algorithm {
  /** Returns the present hits and times for a request, without counting it. */
  look(state: State | undefined, input: AlgorithmInput): Look;
  /**
   * Takes back hits of a request. Returns the number of these hits, and the state without them; undefined if no hits are left.
   *
   * @param charge number that identifies the counted request, see `chargeOf`
   */
  refund(state: State | undefined, input: AlgorithmInput, charge: number): { state: State | undefined; given: number };
}

const fixedWindow: Algorithm = {
  look(state, { windowMs, cost, nowUs }) {
    const nowMs = Math.floor(nowUs / 1_000);
    const live = state?.kind === 'fixed-window' && state.count > 0 && state.endsMs > nowMs ? state : undefined;
    const count = live?.count ?? 0;
    const endsMs = Math.min(live?.endsMs ?? Infinity, nowMs + windowMs);
    const leftMs = endsMs - nowMs;
    const timesOf = (used: number): Times => ({ resetMs: used > 0 ? leftMs : 0, nextMs: used > 0 ? leftMs : 0 });
    return {
      used: count,
      ...timesOf(count),
      retryMs: leftMs,
      charge: () => ({ state: { kind: 'fixed-window', count: count + cost, endsMs }, ...timesOf(count + cost) }),
    };
  },
  refund(state, { cost, nowUs }, chargedUntilMs) {
    if (state?.kind !== 'fixed-window' || state.endsMs <= Math.floor(nowUs / 1_000)) return { state, given: 0 };
    if (state.endsMs !== chargedUntilMs) return { state, given: 0 };
    const given = Math.min(cost, state.count);
    return { given, state: given === state.count ? undefined : { ...state, count: state.count - given } };
  },
};

const slidingWindow: Algorithm = {
  look(state, { limit, windowMs, cost, nowUs }) {
    const nowMs = Math.floor(nowUs / 1_000);
    const window = Math.floor(nowMs / windowMs);
    const leftMs = windowMs - (nowMs % windowMs);
    const live = state?.kind === 'sliding-window' && state.last >= window - 1 && state.last <= window + 1;
    const kept = live ? state : undefined;
    const { last, current, previous } =
      kept === undefined || kept.last >= window
        ? (kept ?? { last: window, current: 0, previous: 0 })
        : { last: window, current: 0, previous: kept.current };
    const msTo = (free: number, hits: number): number => {
      if (hits <= free) return previous > 0 ? leftMs - Math.floor(((free - hits) * windowMs) / previous) : 0;
      return free < 0 ? leftMs : leftMs + Math.max(0, windowMs - Math.floor((free * windowMs) / hits));
    };
    const msToNext = (hits: number): number => {
      const used = Math.ceil(hits + (previous * leftMs) / windowMs - 1e-9);
      return used > 0 ? Math.max(1, msTo(Math.min(used, limit) - 1, hits)) : 0;
    };
    return {
      used: current + (previous * leftMs) / windowMs,
      resetMs: current > 0 ? leftMs + windowMs : previous > 0 ? leftMs : 0,
      nextMs: msToNext(current),
      retryMs: msTo(limit - cost, current),
      charge: () => ({
        state: { kind: 'sliding-window', last, current: current + cost, previous },
        resetMs: leftMs + windowMs,
        nextMs: msToNext(current + cost),
      }),
    };
  },
  refund(state, { windowMs, cost, nowUs }, chargedUs) {
    if (state?.kind !== 'sliding-window') return { state, given: 0 };
    if ((state.last + 2) * windowMs <= Math.floor(nowUs / 1_000)) return { state: undefined, given: 0 };
    const age = state.last - Math.floor(chargedUs / 1_000 / windowMs);
    if (age !== 0 && age !== 1) return { state, given: 0 };
    const given = Math.min(cost, age === 0 ? state.current : state.previous);
    const left = age === 0 ? { current: state.current - given } : { previous: state.previous - given };
    return { state: { ...state, ...left }, given };
  },
};

const slidingLog: Algorithm = {
  look(state, { windowMs, cost, capacity, nowUs }) {
    const fromUs = nowUs - windowMs * 1_000;
    const hits = state?.kind === 'sliding-log' ? state.hits.filter(({ us }) => us > fromUs) : [];
    const total = hits.reduce((sum, hit) => sum + hit.cost, 0);
    let [fits, retryMs] = [capacity - total, windowMs];
    for (const hit of hits) {
      if (fits >= cost) break;
      fits += hit.cost;
      retryMs = Math.ceil((hit.us - fromUs) / 1_000);
    }
    const msTo = (hit?: { us: number }): number => (hit ? Math.ceil((hit.us - fromUs) / 1_000) : 0);
    const nextMs = msTo(hits[0]);
    return {
      used: total,
      resetMs: msTo(hits.at(-1)),
      nextMs,
      retryMs,
      charge: () => ({
        state: { kind: 'sliding-log', hits: [...hits, { us: nowUs, cost }] },
        resetMs: windowMs,
        nextMs: nextMs || windowMs,
      }),
    };
  },
  refund(state, { windowMs, cost, nowUs }, chargedUs) {
    if (state?.kind !== 'sliding-log' || chargedUs <= nowUs - windowMs * 1_000) return { state, given: 0 };
    const index = state.hits.findIndex((hit) => hit.us === chargedUs && hit.cost === cost);
    return index === -1
      ? { state, given: 0 }
      : { state: { ...state, hits: state.hits.filter((_, i) => i !== index) }, given: cost };
  },
};

function drainedIn(us: number, { limit, windowMs }: AlgorithmInput): number {
  return (Math.max(0, us) * limit) / (windowMs * 1_000);
}

function bucketOf(state: State | undefined, input: AlgorithmInput): Bucket {
  const { nowUs } = input;
  if (state?.kind === 'token-bucket') {
    const level = state.level - drainedIn(nowUs - state.us, input);
    if (level > 0) return { ...state, level, us: nowUs };
  }
  return { kind: 'token-bucket', level: 0, us: nowUs, emptyUs: nowUs, lows: [] };
}

function msToDrain(hits: number, { limit, windowMs }: AlgorithmInput): number {
  return limit > 0 ? Math.min(1e13, Math.max(0, Math.ceil((hits * windowMs) / limit))) : windowMs;
}

/** Returns the time until more hits are allowed, ms; 0 if no hit counts. */
function msToNext(level: number, input: AlgorithmInput): number {
  const used = Math.min(input.capacity, Math.ceil(level - 1e-9));
  return used > 0 ? Math.max(1, msToDrain(level - used + 1, input)) : 0;
}

/** Returns a level of the bucket with its time. Rounds the level down to four decimals, as token-bucket.lua does. */
const lowOf = (us: number, level: number): Low => ({ us, level: Math.floor(level * 1e4) / 1e4 });

/** Adds to `lows` the level just before a request was counted, as `with_low` in token-bucket.lua does. */
function withLow(lows: readonly Low[], us: number, level: number): readonly Low[] {
  const below = lows.findIndex((low) => low.level < level);
  const kept = below === -1 ? [] : lows.slice(below);
  if (kept[0]?.us === us) return kept;
  const all = [lowOf(us, level), ...kept];
  if (all.length <= MAX_LOWS) return all;
  const [later, earlier] = all.slice(-2) as [Low, Low];
  return [...all.slice(0, -2), { us: later.us, level: Math.min(later.level, earlier.level) }];
}

const tokenBucket: Algorithm = {
  look(state, input) {
    const { cost, capacity, nowUs } = input;
    const bucket = bucketOf(state, input);
    const level = Math.min(capacity, bucket.level);
    const lows = level > 0 ? withLow(bucket.lows, nowUs, level) : [];
    return {
      used: level,
      resetMs: level > 0 ? msToDrain(level, input) : 0,
      nextMs: msToNext(level, input),
      retryMs: Math.max(1, msToDrain(level + cost - capacity, input)),
      charge: () => ({
        state: { ...bucket, level: level + cost, lows },
        resetMs: msToDrain(level + cost, input),
        nextMs: msToNext(level + cost, input),
      }),
    };
  },
  refund(state, input, chargedUs) {
    const { cost } = input;
    const bucket = bucketOf(state, input);
    if (chargedUs < bucket.emptyUs) return { state, given: 0 };
    const since = bucket.lows.filter(({ us }) => us > chargedUs);
    // At most the lowest level since the request was counted can be refunded. The comments in token-bucket.lua explain why.
    const least = since.map(({ us, level }) => Math.max(level, cost - drainedIn(us - chargedUs, input)));
    const given = Math.min(bucket.level, cost, ...least);
    if (given <= 0) return { state, given: 0 };
    const lows = bucket.lows.map((low) => (low.us > chargedUs ? lowOf(low.us, Math.max(0, low.level - given)) : low));
    return { state: { ...bucket, level: bucket.level - given, lows }, given: Math.floor(given + 0.5) };
  },
};

export const ALGORITHMS: Readonly<Record<RateLimitAlgorithm, Algorithm>> = {
  'fixed-window': fixedWindow,
  'sliding-window': slidingWindow,
  'sliding-log': slidingLog,
  'token-bucket': tokenBucket,
};
