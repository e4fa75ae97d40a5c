import type { ExecutionContext } from '@nestjs/common';
import { RpcException } from '@nestjs/microservices';
import { WsException } from '@nestjs/websockets';
import { RateLimit, SkipRateLimit } from '../src/rate-limit.decorator';
import { Check } from '../src/limiter/decision';
import { RateLimitException } from '../src/rate-limit.exception';
import type { RateLimitModuleOptions } from '../src/rate-limit.options';
import { getRateLimitResult } from '../src/rules/results';
import { ADDRESS, collectWarnings, contextOf, MINUTE, open, request } from './enforcer-support';

const warnings = collectWarnings();
const a = { name: 'a', limit: 5, ...MINUTE };
const b = { name: 'b', limit: 7, cost: 2, ...MINUTE };

/** Response that keeps its headers. */
function response(parts: object = {}) {
  const headers: Record<string, string> = {};
  return { headers, setHeader: (name: string, value: string) => void (headers[name] = value), ...parts };
}

const refusalOf = async (admitted: boolean | Promise<boolean>): Promise<RateLimitException> =>
  Promise.resolve(admitted).then(
    () => new Error('it was allowed') as never,
    (error: RateLimitException) => error,
  );

describe('a request', () => {
  it('is allowed at once without rules, also if all are skipped', () => {
    class Skipping {
      @SkipRateLimit()
      find(): void {}
    }
    const without = open();
    const skipping = open({ rules: [a] });
    expect([without.enforcer.admit(contextOf()), without.checked()]).toEqual([true, []]);
    expect([skipping.enforcer.admit(contextOf({ target: Skipping })), skipping.checked()]).toEqual([true, []]);
  });

  it('is decided by the address of its client, and at once if no rule has a function', async () => {
    const { enforcer, service } = open({ rules: [a, b] });
    const admitted = enforcer.admit(contextOf());
    const [ofA, ofB] = enforcer.plans.rules as [never, never];
    expect(service.consume.mock.calls).toEqual([[[new Check(ofA, ADDRESS, 5, 1), new Check(ofB, ADDRESS, 7, 2)]]]);
    expect(service.consume.mock.calls[0]?.[0][0]).toBeInstanceOf(Check);
    expect(await admitted).toBe(true);
  });

  it('is decided after the functions of its rules, by what they return', async () => {
    const subject = (context: ExecutionContext): string => `user of ${context.getType()}`;
    const { enforcer, service } = open({
      rules: [{ ...a, limit: () => Promise.resolve(9), cost: () => 3 }, { ...b, subject }, { ...b, name: 'c', skip: () => true }],
    }); // prettier-ignore
    expect(await enforcer.admit(contextOf())).toBe(true);
    const [ofA, ofB] = enforcer.plans.rules as [never, never];
    expect(service.consume.mock.calls).toEqual([
      [[new Check(ofA, ADDRESS, 9, 3), new Check(ofB, 'user of http', 7, 2)]],
    ]);
    expect(warnings).toEqual([]);
  });

  it('is allowed without a decision if no rule applies to it', async () => {
    const { enforcer, checked } = open({ rules: [{ ...a, skip: () => true }] }, undefined);
    expect([await enforcer.admit(contextOf()), checked()]).toEqual([true, []]);
  });

  it('is decided once by each enforcer, although several guards ask', async () => {
    const [one, other] = [open({ rules: [a] }), open({ rules: [a] })];
    const context = contextOf();
    expect(await one.enforcer.admit(context)).toBe(true);
    expect(one.enforcer.admit(context)).toBe(true);
    expect(await other.enforcer.admit(context)).toBe(true);
    expect([one.checked(), other.checked()]).toEqual([[[['a', ADDRESS]]], [[['a', ADDRESS]]]]);
    expect(await one.enforcer.admit(contextOf())).toBe(true);
    expect(one.checked()).toHaveLength(2);
  });

  it('counts the network of an IPv6 address, as long as the module says', async () => {
    const context = (): ExecutionContext => contextOf({ args: [request({ ip: '2001:db8:1:2ff:3:4:5:6' })] });
    const [usual, own] = [open({ rules: [a] }), open({ rules: [a], ipv6Prefix: 64 })];
    await usual.enforcer.admit(context());
    await own.enforcer.admit(context());
    expect(usual.checked()).toEqual([[['a', '2001:db8:1:200:0:0:0:0/56']]]);
    expect(own.checked()).toEqual([[['a', '2001:db8:1:2ff:0:0:0:0/64']]]);
  });

  it('fails with the error of the service, or of a function of a rule', async () => {
    const failing = open({ rules: [a] });
    failing.service.consume.mockRejectedValue(new Error('down'));
    await expect(failing.enforcer.admit(contextOf())).rejects.toThrow('down');
    const throwing = open({ rules: [{ ...a, subject: () => Promise.reject(new Error('no user')) }] });
    await expect(throwing.enforcer.admit(contextOf())).rejects.toThrow('no user');
  });
});

describe('the kind of a context', () => {
  @RateLimit(a)
  class Limited {
    find(): void {}
  }

  it.each([
    ['http', [request()], RateLimitException],
    ['graphql', [{}, {}, { req: request() }, {}], RateLimitException],
    ['ws', [{ handshake: { address: ADDRESS } }, {}], WsException],
    ['rpc', [{}, { getSocketRef: () => ({ socket: { remoteAddress: ADDRESS } }) }], RpcException],
  ])('%s has its address and its error', async (kind, args, type) => {
    const { enforcer, checked } = open({}, { allowed: false });
    const error = await refusalOf(enforcer.admit(contextOf({ target: Limited, kind, args })));
    expect([error.constructor, checked()]).toEqual([type, [[['a', ADDRESS]]]]);
  });

  it('without an adapter has no address, and the error of HTTP', async () => {
    const { enforcer, checked } = open({ rules: [a] }, { allowed: false });
    const context = contextOf({ kind: 'other', args: [request()] });
    expect(await refusalOf(enforcer.admit(context))).toBeInstanceOf(RateLimitException);
    expect(checked()).toEqual([[['a', '']]]);
  });

  it.each(['other', 'http'])('%s may have an adapter of the app', async (kind) => {
    const error = new Error('own');
    const adapter = { address: () => 'own', refusal: jest.fn(() => error), call: () => undefined };
    const { enforcer, checked } = open({ rules: [a], contexts: { [kind]: adapter } }, { allowed: false });
    const context = contextOf({ kind });
    expect(await refusalOf(enforcer.admit(context))).toBe(error);
    expect([checked(), adapter.refusal.mock.calls]).toEqual([
      [[['a', 'own']]],
      [[context, expect.objectContaining({ decision: expect.anything() as object, status: 429 })]],
    ]);
  });

  it('decides if the settings of proxies are inspected', async () => {
    const proxied = { headers: { 'x-forwarded-for': '198.51.100.1' }, server: {} };
    const args = [request(proxied)];
    const adapter = { address: () => ADDRESS, refusal: () => new Error(), call: () => undefined };
    await open({ rules: [a], contexts: { other: adapter } }).enforcer.admit(contextOf({ kind: 'other', args }));
    expect(warnings).toEqual([]);
    await open({ rules: [a] }).enforcer.admit(contextOf({ args }));
    expect(warnings).toEqual([['RateLimit', expect.stringMatching(/^A request has the header X-Forwarded-For, /)]]);
  });
});

describe('an allowed request', () => {
  it('gets headers, and its decision is kept for its handler', async () => {
    const reply = response();
    const headers = jest.fn((_decision: object, all: object) => ({ ...all, Own: 'yes' }));
    const { enforcer } = open({ rules: [a], responses: { headers } }, { allowed: true, source: 'redis' });
    const context = contextOf({ args: [request(), reply] });
    await enforcer.admit(context);
    const kept = getRateLimitResult(context);
    expect(reply.headers).toEqual({ Own: 'yes' });
    expect(kept).toEqual({
      ...{ allowed: true, source: 'redis', reason: undefined },
      ...{ retryAfterMs: 0, rules: [], policies: [] },
    });
    expect(headers.mock.calls).toEqual([[kept, {}]]);
  });

  it('needs no response and no object of the call', async () => {
    const adapter = { address: () => ADDRESS, refusal: () => new Error(), call: () => undefined };
    const { enforcer } = open({ rules: [{ ...a, count: 'failures' }], contexts: { http: adapter } });
    expect(await enforcer.admit(contextOf())).toBe(true);
  });
});

describe('a refused request', () => {
  async function refused(answer: object, options: RateLimitModuleOptions = {}) {
    const reply = response();
    const context = contextOf({ args: [request(), reply] });
    const error = await refusalOf(open({ rules: [a], ...options }, answer).enforcer.admit(context));
    return { error, reply, context };
  }

  it('gets problem details of their type, and its decision is not kept', async () => {
    const { error, reply, context } = await refused({ allowed: false });
    expect([error.getStatus(), error.getResponse()]).toEqual([
      429,
      expect.objectContaining({ status: 429, detail: 'Try again in 1 s.', 'violated-policies': [] }),
    ]);
    expect(reply.headers).toEqual({ 'Retry-After': '1', 'Content-Type': 'application/problem+json' });
    expect(getRateLimitResult(context)).toBeUndefined();
  });

  it('gets no type of its body if that is not problem details', async () => {
    const { error, reply } = await refused({ allowed: false, retryAfterMs: 2_500 }, { responses: { problem: false } });
    expect(reply.headers).toEqual({ 'Retry-After': '3' });
    expect(error.getResponse()).toEqual({ statusCode: 429, message: 'Too Many Requests' });
  });

  it('gets 503 if Redis failed', async () => {
    const { error } = await refused({ allowed: false, reason: 'redis-error', source: 'policy' });
    expect([error.getStatus(), error.decision.source]).toEqual([503, 'policy']);
  });
});
