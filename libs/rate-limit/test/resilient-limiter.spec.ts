import { RateLimitEvents } from 'luanest/rate-limit';
import { InvalidInputError, NotSentError } from 'luanest/script-registry';
import { Published } from '../../../test/support/published';
import { Checks } from '../../internal/src';
import type { Check, Verdict } from '../src/limiter/decision';
import { ResilientLimiter } from '../src/limiter/resilient-limiter';
import { named, resolveRule } from '../src/rules/resolve-rule';
import type { RateLimitRule } from '../src/rules/rule';

const published = new Published(RateLimitEvents);
const NAMES = ['requestAllowed', 'requestRefused'];

function check(options: Partial<RateLimitRule> = {}, parts: Partial<Check> = {}): Check {
  const rule = named(resolveRule({ limit: 2, windowMs: 1_000, ...options }, new Checks('Test')), options.name ?? 'r');
  return { rule, subject: 'u', limit: 2, cost: 1, ...parts };
}

const verdict = (parts: Partial<Verdict> = {}): Verdict => ({
  ...{ check: check(), verdict: 0, used: 1, resetMs: 900, retryMs: 0, nextMs: 900, at: 5_000_000 },
  ...parts,
});
const ALLOWED: readonly Verdict[] = [verdict()];
const REFUSED: readonly Verdict[] = [verdict({ verdict: 1, used: 2, retryMs: 900 })];

/** A refusal of another rule. */
const REFUSED_B = [verdict({ check: check({ name: 'b' }), verdict: 1, retryMs: 900 })];

/** A limiter over a Redis that answers with `reply`, or fails with it. */
function open(
  options: Partial<{ onRedisError: string; deadlineMs: number; cachedRefusals: number; failures: number }> = {},
) {
  const { onRedisError = 'allow', deadlineMs = 50, cachedRefusals = 10_000, failures = 2 } = options;
  const state = { now: 1_000, reply: ALLOWED as readonly Verdict[] | Error, calls: [] as unknown[][] };
  const answer = async <T>(name: string, args: unknown[], value: T): Promise<T> => {
    state.calls.push([name, ...args]);
    await Promise.resolve();
    if (state.reply instanceof Error) throw state.reply;
    return value;
  };
  const redis = {
    consume: (...args: unknown[]) => answer('consume', args, state.reply as readonly Verdict[]),
    refund: (...args: unknown[]) => answer('refund', args, [1, 1]),
    reset: (...args: unknown[]) => answer('reset', args, true),
    block: (...args: unknown[]) => answer('block', args, undefined),
  };
  const limiter = new ResilientLimiter(redis, { onRedisError, deadlineMs } as never, {
    clocks: { monotonicMs: () => state.now, wallUs: () => state.now * 1_000 },
    failures,
    openMs: 500,
    cachedRefusals,
  });
  const count = (name: string): number => state.calls.filter(([called]) => called === name).length;
  return { state, limiter, count };
}

describe('a decision', () => {
  it('without rules allows the request, and calls nothing', async () => {
    const { state, limiter } = open();
    expect(await limiter.decide([], true)).toMatchObject({ allowed: true, source: 'none' });
    expect([state.calls, published.take()]).toEqual([[], []]);
  });

  it('is that of Redis, with the deadline of the module', async () => {
    const { state, limiter } = open();
    const checks = [check(), check({ name: 'b' })];
    expect(await limiter.decide(checks, true)).toMatchObject({ allowed: true, source: 'redis' });
    expect(state.calls).toEqual([
      ['consume', checks, true, { calledAtMs: 1_000, startedAtMs: expect.any(Number) as unknown, deadlineMs: 50 }],
    ]);
  });

  it('is published with its rules, but not that of a look', async () => {
    const { state, limiter } = open();
    await limiter.decide([check()], true);
    state.reply = REFUSED;
    await limiter.decide([check()], true);
    await limiter.decide([check({ name: 'look' })], false);
    const event = { rules: ['r'], source: 'redis' };
    expect(published.take()).toEqual([
      ['requestAllowed', { ...event, violated: [], retryAfterMs: 0 }],
      ['requestRefused', { ...event, violated: ['r'], retryAfterMs: 900 }],
    ]);
  });
});

describe('a refusal of Redis', () => {
  async function refused(options: Parameters<typeof open>[0] = {}, of = check(), reply = REFUSED) {
    const one = open(options);
    one.state.reply = reply;
    await one.limiter.decide([of], true);
    published.take();
    one.state.reply = ALLOWED;
    return one;
  }

  it('is used again without a call, with the time that is left', async () => {
    const { state, limiter, count } = await refused();
    state.now += 100;
    const decision = await limiter.decide([check({ name: 'first' }), check()], true);
    expect(decision).toMatchObject({ allowed: false, source: 'cache', retryAfterMs: 800 });
    expect(count('consume')).toBe(1);
    expect(published.take()).toEqual([
      ['requestRefused', { rules: ['first', 'r'], violated: ['r'], source: 'cache', retryAfterMs: 800 }],
    ]);
    state.now += 800;
    expect(await limiter.decide([check()], true)).toMatchObject({ allowed: true, source: 'redis' });
  });

  it.each<[string, Parameters<typeof open>[0], Check, readonly Verdict[]]>([
    ['no refusal is cached', { cachedRefusals: 0 }, check(), REFUSED],
    [
      'it was that of a shadow rule',
      {},
      check(),
      [verdict({ check: check({ shadow: true }), verdict: 1, retryMs: 900 }), ...REFUSED_B],
    ],
    ['the rule did not refuse', {}, check(), [verdict(), ...REFUSED_B]],
  ])('is not used again if %s', async (_, options, of, reply) => {
    const { limiter, count } = await refused(options, of, reply);
    await limiter.decide([check()], true);
    expect(count('consume')).toBe(2);
  });

  it('is not used for a shadow rule, or for another subject', async () => {
    const { limiter, count } = await refused();
    await limiter.decide([check({ shadow: true })], true);
    await limiter.decide([check({}, { subject: 'v' })], true);
    expect(count('consume')).toBe(3);
  });

  it('is used for at most five seconds', async () => {
    const long = [verdict({ verdict: 2, retryMs: 60_000 })];
    const { state, limiter, count } = await refused({}, check(), long);
    state.now += 4_999;
    expect(await limiter.decide([check()], true)).toMatchObject({ source: 'cache' });
    state.now += 1;
    await limiter.decide([check()], true);
    expect(count('consume')).toBe(2);
  });

  it.each(['reset', 'block'] as const)('is forgotten after a %s, also if that fails', async (what) => {
    for (const reply of [ALLOWED, new NotSentError('down')]) {
      const { state, limiter, count } = await refused();
      state.reply = reply;
      await (what === 'reset' ? limiter.reset(check().rule, 'u') : limiter.block(check().rule, 'u', 5)).catch(() => 0);
      state.reply = ALLOWED;
      await limiter.decide([check()], true);
      expect(count('consume')).toBe(2);
    }
  });

  it('is forgotten after a refund of the subject', async () => {
    const { state, limiter, count } = open();
    const decision = await limiter.decide([check()], true);
    state.reply = REFUSED;
    await limiter.decide([check()], true);
    await limiter.refund(decision);
    state.reply = ALLOWED;
    expect(await limiter.decide([check()], true)).toMatchObject({ source: 'redis' });
    expect(count('consume')).toBe(3);
  });
});

describe('a request that Redis does not decide', () => {
  it.each<[string, string, Partial<RateLimitRule>[], boolean, string, string]>([
    ['allowed', 'allow', [{}], true, 'policy', 'allow'],
    ['refused', 'deny', [{}], false, 'policy', 'deny'],
    ['counted here', 'local', [{}], true, 'local', 'local'],
    ['decided by the policy of its rule', 'allow', [{ onRedisError: 'deny' }], false, 'policy', 'deny'],
    [
      'refused if one of its rules says so',
      'allow',
      [{}, { onRedisError: 'local' }, { onRedisError: 'deny' }],
      false,
      'policy',
      'deny',
    ],
    ['counted here if one of its rules says so', 'allow', [{}, { onRedisError: 'local' }], true, 'local', 'local'],
    ['not refused by a shadow rule', 'deny', [{ shadow: true }], true, 'policy', 'allow'],
  ])('is %s', async (_, onRedisError, rules, allowed, source, policy) => {
    const { state, limiter } = open({ onRedisError });
    state.reply = new NotSentError('down');
    const checks = rules.map((rule, i) => check({ name: `r${i}`, ...rule }));
    expect(await limiter.decide(checks, true)).toMatchObject({ allowed, source });
    const names = checks.map(({ rule }) => rule.name);
    expect(published.take()).toEqual([
      ['redisFailed', { rules: names, policy, error: state.reply }],
      [NAMES[allowed ? 0 : 1], { rules: names, violated: [], source, retryAfterMs: 0 }],
    ]);
  });

  it('is counted here up to the limit, and refunded here', async () => {
    const { state, limiter, count } = open({ onRedisError: 'local', failures: 100 });
    state.reply = new NotSentError('down');
    const decisions = [];
    for (let i = 0; i < 3; i++) decisions.push(await limiter.decide([check()], true));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect([await limiter.refund(decisions[0] as never), count('refund')]).toEqual([1, 0]);
    expect((await limiter.decide([check()], false)).allowed).toBe(true);
    await limiter.reset(check().rule, 'u').catch(() => undefined);
    expect((await limiter.decide([check({}, { cost: 2 })], false)).allowed).toBe(true);
    await limiter.block(check().rule, 'u', 70).catch(() => undefined);
    expect(await limiter.decide([check()], true)).toMatchObject({ allowed: false, retryAfterMs: 70 });
  });

  it.each([
    new InvalidInputError('bad', { code: 'INVALID_CALL' }),
    new InvalidInputError('bad', { code: 'INVALID_KEY' }),
  ])('is an error of the caller: %p', async (error) => {
    const { state, limiter, count } = open({ failures: 1 });
    state.reply = error;
    await expect(limiter.decide([check()], true)).rejects.toBe(error);
    await expect(limiter.decide([check()], true)).rejects.toBe(error);
    expect([count('consume'), published.take()]).toEqual([2, []]);
  });
});

describe('the circuit breaker', () => {
  it('stops the calls after failures, and tries again later', async () => {
    const { state, limiter, count } = open();
    state.reply = new NotSentError('down');
    for (let i = 0; i < 4; i++) await limiter.decide([check()], true);
    expect(count('consume')).toBe(2);
    const events = published.take() as [string, { error?: Error; state?: string }][];
    expect(events.filter(([name]) => name === 'breakerChanged')).toEqual([['breakerChanged', { state: 'opened' }]]);
    expect(events.filter(([name]) => name === 'redisFailed').at(-1)?.[1].error?.message).toBe(
      'RateLimitModule did not call Redis, because its last calls to Redis failed (the circuit breaker is open). One request a second ' +
        'calls Redis, to find out if it replies again. Check that Redis is reachable.',
    );
    state.now += 500;
    state.reply = ALLOWED;
    expect(await limiter.decide([check()], true)).toMatchObject({ source: 'redis' });
    expect(published.take()).toContainEqual(['breakerChanged', { state: 'closed' }]);
  });
});

describe('refunds, resets and blocks', () => {
  it.each([
    [50, 1_000],
    [5_000, 5_000],
  ])('have a deadline of at least a second: %i ms, %i ms', async (deadlineMs, longest) => {
    // prettier-ignore
    const { state, limiter } = open({ deadlineMs });
    const both = [check(), check({ name: 'b' })];
    state.reply = [verdict(), verdict()];
    const decision = await limiter.decide(both, true);
    expect([await limiter.refund(decision), await limiter.refund(decision)]).toEqual([2, 0]);
    expect(await limiter.reset(check().rule, 'u')).toBe(true);
    await limiter.block(check().rule, 'u', 5);
    expect(state.calls.slice(1).map((call) => [call[0], call.at(-1)])).toEqual([
      ['refund', longest],
      ['reset', longest],
      ['block', longest],
    ]);
  });
});
