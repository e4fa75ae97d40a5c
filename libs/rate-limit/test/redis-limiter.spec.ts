import { NotSentError, ScriptFailedError } from 'luanest/script-registry';
import { turn } from '../../../test/support/manual-time';
import type { Check } from '../src/limiter/decision';
import type { RateLimitRule } from '../src/rules/rule';
import { BUDGET, check, open, OTHER, verdict } from './redis-limiter-support';

describe('the script that decides', () => {
  it.each<[string, Partial<RateLimitRule>, Partial<Check>, boolean, string]>([
    ['one fixed window', {}, {}, true, 'consume-fixed-window'],
    ['of which the cost is the limit', {}, { cost: 5 }, true, 'consume-fixed-window'],
    ['a look without a charge', {}, {}, false, 'consume'],
    ['another algorithm', { algorithm: 'sliding-window' }, {}, true, 'consume'],
    ['blocks', { blockMs: 1 }, {}, true, 'consume'],
    ['a shadow rule', { shadow: true }, {}, true, 'consume'],
    ['no cost', {}, { cost: 0 }, true, 'consume'],
    ['a cost above the limit', {}, { cost: 6 }, true, 'consume'],
    ['numbers too large for one reply', { windowMs: 34_560_000_000 }, { limit: 1e9 }, true, 'consume'],
  ])('is the short one only for a plain fixed window: %s', (_, options, parts, charge, script) => {
    const { limiter, scripts } = open();
    void limiter.consume([check(options, parts)], charge, BUDGET);
    void limiter.consume([check(options, parts), check({ name: 'two' })], charge, BUDGET);
    expect(scripts()).toEqual([script, script === 'consume' ? 'consume' : 'consume-fixed-windows']);
  });

  it('gets the parameters of a fixed window, and its reply is the decision', async () => {
    const { registry, limiter } = open();
    const decided = limiter.consume([check({}, { cost: 2 })], true, BUDGET);
    const { keys, args, options } = registry.last;
    expect([keys, args, options]).toEqual([
      { counter: expect.stringMatching(/fixed-window.*r.*1000.*u/) as unknown },
      { limit: 5, windowMs: 1_000, cost: 2 },
      BUDGET,
    ]);
    registry.last.reply.resolve(2 * 1_001 + 700);
    const at = { fromMs: 100, toMs: 101 };
    expect(await decided).toEqual([verdict({ check: check({}, { cost: 2 }), used: 2, resetMs: 700, nextMs: 700, at })]);
  });

  it('gets the parameters of several fixed windows', async () => {
    const { registry, limiter } = open();
    const second = check({ name: 'b', windowMs: 50 }, { limit: 9, cost: 3 });
    const decided = limiter.consume([check(), second], true, BUDGET);
    expect([Object.keys(registry.last.keys), registry.last.args, registry.last.options]).toEqual([
      ['counters'],
      { rules: [5, 1_000, 1, 9, 50, 3] },
      BUDGET,
    ]);
    registry.last.reply.resolve([1, 900, 3, 40]);
    const at = { fromMs: 100, toMs: 101 };
    expect(await decided).toEqual([verdict({ at }), verdict({ check: second, used: 3, resetMs: 40, nextMs: 40, at })]);
  });

  it('gets the parameters of other rules as text', async () => {
    const { registry, limiter } = open();
    const checks = [
      check({ algorithm: 'token-bucket', burst: 7 }),
      check({ blockMs: 10, shadow: true }),
      check({ blockMs: 10, maxBlockMs: 40 }),
    ];
    const fresh = {
      ...checks[1],
      rule: { ...(checks[1] as Check).rule, shadow: false, freshAfterBlock: true },
    } as Check;
    const decided = limiter.consume([...checks, fresh], true, BUDGET);
    expect(registry.last.args).toEqual({
      charge: 1,
      rules: [
        ...['token-bucket:5:1000:7::', '1'],
        ...['fixed-window:5:1000:5:shadow:10:10', '1'],
        ...['fixed-window:5:1000:5::10:40', '1'],
        ...['fixed-window:5:1000:5:fresh:10:10', '1'],
      ],
    });
    expect((registry.last.keys as unknown as { keys: string[] }).keys).toHaveLength(8);
    const nothing = [0, 0, 0, 0];
    registry.last.reply.resolve([0, 7, 1, 5, 900, 800, ...nothing, ...nothing, ...nothing]);
    expect((await decided)[0]).toEqual({
      ...{ check: checks[0], verdict: 1, used: 5, resetMs: 900, retryMs: 800, nextMs: 800, at: 7 },
    });
    void limiter.consume([check()], false, BUDGET);
    expect(registry.last.args).toMatchObject({ charge: 0 });
  });

  it('is the long one if the short one found a mark in a counter', async () => {
    for (const checks of [[check()], [check(), check({ name: 'b' })]]) {
      const { registry, limiter, scripts } = open();
      const decided = limiter.consume(checks, true, BUDGET);
      registry.last.reply.resolve(0);
      await turn();
      expect(scripts()[1]).toBe('consume');
      expect([registry.last.args.charge, registry.last.options]).toEqual([1, BUDGET]);
      registry.last.reply.resolve([0, 7, 2, 0, 400, 400, 0, 0, 0, 0]);
      expect((await decided)[0]).toMatchObject({ verdict: 2, retryMs: 400 });
    }
  });

  it('is not repeated after an error', async () => {
    for (const error of [new ScriptFailedError('ERR value is not an integer', 'ERR'), new NotSentError('down')]) {
      const { registry, limiter, scripts } = open();
      const decided = limiter.consume([check()], true, BUDGET);
      registry.last.reply.reject(error);
      await expect(decided).rejects.toBe(error);
      expect(scripts()).toHaveLength(1);
    }
  });
});

describe('subjects with different hash tags', () => {
  const both = [check(), check({ name: 'b' }, { subject: OTHER })];

  it('are decided by one script for each tag', async () => {
    const { registry, limiter, scripts } = open(2);
    const third = check({ name: 'c' });
    const decided = limiter.consume([...both, third], true, BUDGET);
    expect(scripts()).toEqual(['consume', 'consume']);
    const [first, second] = registry.calls;
    first?.reply.resolve([1, 5, 0, 1, 900, 900, 0, 4, 30, 30]);
    second?.reply.resolve([1, 6, 0, 2, 800, 800]);
    expect((await decided).map(({ used, at }) => [used, at])).toEqual([[1, 5], [2, 6], [4, 5]]); // prettier-ignore
    expect(scripts()).toHaveLength(2);
  });

  it('of one tag among several are decided together', () => {
    const { limiter, scripts } = open(2);
    void limiter.consume([check(), check({ name: 'b' })], true, BUDGET);
    expect(scripts()).toEqual(['consume-fixed-windows']);
  });

  it('are refunded if another one refuses, and the decision is without their charge', async () => {
    const { registry, limiter, scripts } = open(2);
    const decided = limiter.consume(both, true, BUDGET);
    registry.calls[0]?.reply.resolve([1, 5_000_000, 0, 1, 900, 900]);
    registry.calls[1]?.reply.resolve([0, 6, 1, 5, 800, 700]);
    const rules = await decided;
    expect(rules[0]).toMatchObject({ verdict: 0, used: 0, resetMs: 0, nextMs: 0 });
    expect(rules[1]).toMatchObject({ verdict: 1, used: 5, resetMs: 800, retryMs: 700 });
    await turn();
    expect([scripts()[2], registry.last.args, registry.last.options]).toEqual([
      'refund',
      { rules: ['fixed-window:5:1000:5::', '1', '5900'] },
      { deadlineMs: 50 },
    ]);
    registry.last.reply.reject(new Error('ignored'));
  });

  it('keep the hits of others in a decision without their charge', async () => {
    const { registry, limiter } = open(2);
    const decided = limiter.consume(both, true, BUDGET);
    registry.calls[0]?.reply.resolve([1, 5_000_000, 0, 3, 900, 850]);
    registry.calls[1]?.reply.resolve([0, 6, 1, 5, 800, 700]);
    expect((await decided)[0]).toMatchObject({ used: 2, resetMs: 900, nextMs: 850 });
  });

  it('are refunded if another script failed, and its error is that of the decision', async () => {
    const { registry, limiter, scripts } = open(2);
    const decided = limiter.consume(both, true, BUDGET);
    registry.calls[0]?.reply.resolve([1, 5_000_000, 0, 1, 900, 900]);
    const error = new NotSentError('down');
    registry.calls[1]?.reply.reject(error);
    await expect(decided).rejects.toBe(error);
    await turn();
    expect(scripts()[2]).toBe('refund');
  });

  it.each<[string, Check, boolean, number[]]>([
    ['was only looked at', check(), false, [1, 0, 1, 900, 900]],
    ['costs nothing', check({}, { cost: 0 }), true, [1, 0, 1, 900, 900]],
    ['was refused', check(), true, [0, 1, 5, 900, 900]],
    ['was refused by a shadow rule', check({ shadow: true }), true, [1, 1, 5, 900, 900]],
  ])('are not refunded if one %s', async (_, first, charge, decisions) => {
    const { registry, limiter, scripts } = open(2);
    const decided = limiter.consume([first, both[1] as Check], charge, BUDGET);
    registry.calls[0]?.reply.resolve([decisions[0], 5_000_000, ...decisions.slice(1)]);
    registry.calls[1]?.reply.resolve([0, 6, 1, 5, 800, 700]);
    expect((await decided)[0]).toMatchObject({ used: decisions[2], resetMs: 900 });
    await turn();
    expect(scripts()).toHaveLength(2);
  });
});
