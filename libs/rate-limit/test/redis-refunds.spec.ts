import { NotSentError } from 'luanest/script-registry';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { turn } from '../../../test/support/manual-time';
import type { Check, Verdict } from '../src/limiter/decision';
import { RedisLimiter } from '../src/limiter/redis-limiter';
import { check, open, OTHER, verdict } from './redis-limiter-support';

describe('a refund', () => {
  const hits = (of: Check, parts: Partial<Verdict> = {}): Verdict => verdict({ check: of, ...parts });

  it('has the time of each charge, and returns the hits in their order', async () => {
    const { registry, limiter } = open();
    const log = check({ algorithm: 'sliding-log' }, { cost: 2 });
    const refunded = limiter.refund([hits(log), hits(check())], 30);
    await turn();
    expect([registry.last.args, registry.last.options]).toEqual([
      { rules: ['sliding-log:5:1000:5::', '2', '5000000', 'fixed-window:5:1000:5::', '1', '5900'] },
      { deadlineMs: 30 },
    ]);
    registry.last.reply.resolve([2]);
    expect(await refunded).toEqual([2, 0]);
  });

  it('reads the present windows first if the charge read no clock', async () => {
    const { registry, limiter, scripts } = open();
    const span = { fromMs: 90, toMs: 95 };
    const refunded = limiter.refund([hits(check(), { at: span }), hits(check({ name: 'b' })), hits(check({ name: 'c' }), { at: span })], 30); // prettier-ignore
    const rule = ['fixed-window:5:1000:5::', '0'];
    expect([scripts(), registry.last.args, registry.last.options]).toEqual([
      ['consume'],
      { charge: 0, rules: [...rule, ...rule] },
      { deadlineMs: 30 },
    ]);
    // The second window is another one than the one that was charged.
    registry.last.reply.resolve([1, 7_105_000, ...[0, 1, 895, 895], ...[0, 1, 999, 999]]);
    await turn();
    expect(registry.last.args).toEqual({
      rules: ['fixed-window:5:1000:5::', '1', '-8000', 'fixed-window:5:1000:5::', '1', '5900'],
    });
    registry.last.reply.resolve([1, 1]);
    expect(await refunded).toEqual([1, 1, 0]);
  });

  it('is not sent if all windows have ended', async () => {
    const { registry, limiter, scripts } = open();
    const refunded = limiter.refund([hits(check(), { at: { fromMs: 90, toMs: 95 } })], 30);
    registry.last.reply.resolve([1, 7_105_000, 0, 0, 0, 0]);
    expect([await refunded, scripts()]).toEqual([[0], ['consume']]);
  });

  it('of several hash tags fails with an unknown outcome if one part may have worked', async () => {
    const { registry, limiter } = open(2);
    const refunded = limiter.refund([hits(check()), hits(check({}, { subject: OTHER }))], 30);
    await turn();
    registry.calls[0]?.reply.resolve([1]);
    registry.calls[1]?.reply.reject(new NotSentError('down'));
    await expect(refunded).rejects.toMatchObject({
      code: 'UNKNOWN_OUTCOME',
      message: expect.stringContaining(
        'Do not repeat the refund: only the first refund of a decision has an effect.',
      ) as unknown,
    });
  });

  it('of one hash tag fails with the error of its call', async () => {
    const { registry, limiter } = open();
    const refunded = limiter.refund([hits(check())], 30);
    await turn();
    registry.last.reply.reject(new NotSentError('down'));
    await expect(refunded).rejects.toMatchObject({ code: 'NOT_SENT' });
  });
});

describe('a subject', () => {
  it('is reset, and it is known whether it had hits or a block', async () => {
    const { registry, limiter } = open();
    for (const [algorithm, windowMs, removed] of [
      ['fixed-window', 1_000, 2],
      ['sliding-log', 0, 0],
    ] as const) {
      // prettier-ignore
      const reset = limiter.reset(check({ algorithm }).rule, 'u', 30);
      const { keys, args, options } = registry.last;
      expect([Object.keys(keys), args, options]).toEqual([['state', 'penalty'], { windowMs }, { deadlineMs: 30 }]);
      registry.last.reply.resolve(removed);
      expect(await reset).toBe(removed > 0);
    }
  });

  it('is blocked, with the memory of the escalation', () => {
    const { registry, limiter } = open();
    void limiter.block(check().rule, 'u', 70, 30);
    expect([registry.last.args, registry.last.options]).toEqual([{ blockMs: 70, memoryMs: 0 }, { deadlineMs: 30 }]);
    void limiter.block(check({ blockMs: 1, maxBlockMs: 9 }).rule, 'u', 70, 30);
    expect(registry.last.args).toEqual({ blockMs: 70, memoryMs: 9 });
  });

  it('has keys with one hash tag, or with 32 on a Cluster', () => {
    const tags = (clustered: boolean): number => {
      const registry = Object.assign(new FakeRegistry(), { clustered });
      const limiter = new RedisLimiter(registry.asRegistry);
      for (let i = 0; i < 2_000; i++) void limiter.reset(check().rule, `u${i}`, 30);
      return new Set(registry.calls.map(({ keys }) => /\{.*?\}/.exec(keys.state ?? '')?.[0])).size;
    };
    expect([tags(false), tags(true)]).toEqual([1, 32]);
  });
});
