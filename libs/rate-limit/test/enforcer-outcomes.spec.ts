import { EventEmitter } from 'node:events';
import { RateLimitEvents } from 'luanest/rate-limit';
import { Published } from '../../../test/support/published';
import type { RateLimitContextAdapter } from '../src/contexts/context-adapter';
import { RateLimit } from '../src/rate-limit.decorator';
import type { RateLimitDecision } from '../src/rate-limit.types';
import { ADDRESS, collectWarnings, contextOf, MINUTE, open, request } from './enforcer-support';

const published = new Published(RateLimitEvents);
collectWarnings();

const all = { name: 'all', limit: 5, ...MINUTE };
const failures = { ...all, name: 'f', count: 'failures' } as const;
const successes = { ...all, name: 's', count: 'successes' } as const;
const rules = [all, failures, successes];

const DECISION: RateLimitDecision = {
  ...{ allowed: true, source: 'redis', reason: undefined },
  ...{ retryAfterMs: 0, rules: [], policies: [] },
};

function adapterOf(parts: Partial<RateLimitContextAdapter> = {}): RateLimitContextAdapter {
  return { address: () => ADDRESS, refusal: () => new Error('refused'), call: () => undefined, ...parts };
}

describe('the outcome of an allowed HTTP request', () => {
  it.each([
    [200, ['f']],
    [399, ['f']],
    [400, ['s']],
    [503, ['s']],
  ])('with status %p refunds the rules %p', async (statusCode, names) => {
    const { enforcer, service } = open({ rules }, DECISION);
    const response = Object.assign(new EventEmitter(), { statusCode });
    await enforcer.admit(contextOf({ args: [request(), response] }));
    expect(service.refund.mock.calls).toEqual([]);
    response.emit('finish');
    expect(service.refund.mock.calls).toEqual([[DECISION, names]]);
  });

  it('is not waited for if all rules count all outcomes', async () => {
    const { enforcer } = open({ rules: [all] }, DECISION);
    const response = new EventEmitter();
    await enforcer.admit(contextOf({ args: [request(), response] }));
    expect(response.eventNames()).toEqual([]);
  });

  it('is not left to the interceptor', async () => {
    const { enforcer } = open({ rules }, DECISION);
    const context = contextOf({ args: [request(), new EventEmitter()] });
    await enforcer.admit(context);
    expect(enforcer.takeDecision(context)).toBeUndefined();
  });

  it('is not waited for if the request is refused', async () => {
    const { enforcer } = open({ rules }, { allowed: false });
    const response = new EventEmitter();
    await expect(enforcer.admit(contextOf({ args: [request(), response] }))).rejects.toThrow('Too Many Requests');
    expect(response.eventNames()).toEqual([]);
  });
});

describe('the decision of a call without a response', () => {
  it('is given to the interceptor once', async () => {
    const { enforcer } = open(
      { rules, contexts: { ws: adapterOf({ call: (one) => one.getArgByIndex<object>(0) }) } },
      DECISION,
    );
    const context = contextOf({ kind: 'ws', args: [{}] });
    await enforcer.admit(context);
    expect(enforcer.takeDecision(contextOf({ kind: 'ws', args: [{}] }))).toBeUndefined();
    expect(enforcer.takeDecision(context)).toEqual(DECISION);
    expect(enforcer.takeDecision(context)).toBeUndefined();
  });

  it('is not looked for if all rules count all outcomes', async () => {
    const call = jest.fn((): object | undefined => undefined);
    const { enforcer } = open({ rules: [all], contexts: { ws: adapterOf({ call }) } }, DECISION);
    const context = contextOf({ kind: 'ws' });
    await enforcer.admit(context);
    expect([enforcer.takeDecision(context), call.mock.calls.length]).toEqual([undefined, 1]);
  });

  it('is unknown without an object of the call, and without an adapter', async () => {
    const { enforcer } = open({ rules, contexts: { ws: adapterOf() } }, DECISION);
    for (const kind of ['ws', 'other']) {
      const context = contextOf({ kind });
      await enforcer.admit(context);
      expect(enforcer.takeDecision(context)).toBeUndefined();
    }
  });
});

describe('a refund', () => {
  it.each([
    [true, ['s']],
    [false, ['f']],
  ])('after the outcome failed=%p is of the rules %p', async (failed, names) => {
    const { enforcer, service } = open({ rules }, DECISION);
    await enforcer.settle(contextOf(), DECISION, failed);
    expect([service.refund.mock.calls, published.take()]).toEqual([[[DECISION, names]], []]);
  });

  it('is not made without rules to refund', async () => {
    const { enforcer, service } = open({ rules: [all, failures] }, DECISION);
    await enforcer.settle(contextOf(), DECISION, true);
    expect(service.refund.mock.calls).toEqual([]);
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('down'))],
    ['throws', () => { throw new Error('down'); }], // prettier-ignore
  ])('that %s is published, and fails nothing', async (_name, refund) => {
    const { enforcer, service } = open({ rules: [...rules, { ...failures, name: 'g' }] }, DECISION);
    service.refund.mockImplementation(refund);
    await expect(enforcer.settle(contextOf(), DECISION, false)).resolves.toBeUndefined();
    expect(published.take()).toEqual([
      ['redisFailed', { rules: ['f', 'g'], policy: 'not-refunded', error: new Error('down') }],
    ]);
  });
});

describe('the rules of the module, for work that comes from no client', () => {
  class Jobs {
    find(): void {}

    @RateLimit({ ...all, name: 'own', subject: () => 'me' })
    own(): void {}
  }

  it.each(['stream', 'delayed-task', 'cron'])('do not apply to %s, but those of the method do', async (kind) => {
    const { enforcer, checked } = open({ rules: [all] });
    expect(await enforcer.admit(contextOf({ target: Jobs, kind }))).toBe(true);
    expect(checked()).toEqual([]);
    expect(await enforcer.admit(contextOf({ target: Jobs, kind, method: 'own' }))).toBe(true);
    expect(checked()).toEqual([[['own', 'me']]]);
    expect(published.take()).toEqual([]);
  });

  it('apply if the app has an adapter of that kind', async () => {
    const adapter = adapterOf({ address: () => undefined });
    const { enforcer, checked } = open({ rules: [{ ...all, subject: () => 'you' }], contexts: { cron: adapter } });
    await enforcer.admit(contextOf({ target: Jobs, kind: 'cron', method: 'own' }));
    expect(checked()).toEqual([[['all', 'you'], ['own', 'me']]]); // prettier-ignore
  });

  it('apply to other kinds without an adapter', async () => {
    const { enforcer, checked } = open({ rules: [{ ...all, subject: () => 'you' }] });
    await enforcer.admit(contextOf({ target: Jobs, kind: 'other' }));
    expect(checked()).toEqual([[['all', 'you']]]);
  });
});
