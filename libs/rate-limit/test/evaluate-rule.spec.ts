import { InvalidInputError } from 'luanest/script-registry';
import type { ExecutionContext } from '@nestjs/common';
import { Checks } from '../../internal/src';
import { Check } from '../src/limiter/decision';
import type { RateLimitDecision } from '../src/rate-limit.types';
import { evaluateRule } from '../src/rules/evaluate-rule';
import { named, resolveRule } from '../src/rules/resolve-rule';
import { getRateLimitResult, keepResult } from '../src/rules/results';
import type { RateLimitRule } from '../src/rules/rule';

const CONTEXT = { any: 'context' } as unknown as ExecutionContext;
const rule = (options: Partial<RateLimitRule> = {}) =>
  named(resolveRule({ limit: 5, windowMs: 1_000, ...options }, new Checks('Test')), 'r');

const evaluate = (options: Partial<RateLimitRule>, client: string | undefined = '1.2.3.4') =>
  evaluateRule(rule(options), CONTEXT, client);

describe('a rule, evaluated for a request', () => {
  it('counts the address of the client, with its limit and cost', async () => {
    const own = rule({ cost: 2 });
    expect(await evaluateRule(own, CONTEXT, '1.2.3.4')).toEqual(new Check(own, '1.2.3.4', 5, 2));
  });

  it('calls its functions with the context, which may return later', async () => {
    const seen: unknown[] = [];
    const later =
      <T>(value: T) =>
      (context: ExecutionContext) => (seen.push(context), Promise.resolve(value));
    const check = await evaluate({ skip: later(false), subject: later('user'), limit: later(7), cost: later(3) });
    expect(check).toMatchObject({ subject: 'user', limit: 7, cost: 3 });
    expect(seen).toEqual([CONTEXT, CONTEXT, CONTEXT, CONTEXT]);
  });

  it('does not apply if it is skipped, and then calls nothing else', async () => {
    const subject = jest.fn();
    expect(await evaluate({ skip: () => true, subject })).toBeUndefined();
    expect(await evaluate({ skip: () => Promise.resolve(true), subject })).toBeUndefined();
    expect(subject).not.toHaveBeenCalled();
  });

  it('does not apply without a limit', async () => {
    expect(await evaluate({ limit: () => Infinity })).toBeUndefined();
  });

  it('has the empty subject if the request has none', async () => {
    expect(await evaluateRule(rule(), CONTEXT, undefined)).toMatchObject({ subject: '' });
    expect(await evaluate({ subject: () => undefined })).toMatchObject({ subject: '' });
    expect(await evaluate({ subject: () => '' })).toMatchObject({ subject: '' });
  });

  it.each<[string, Partial<RateLimitRule>, string]>([
    [
      'limit',
      { limit: () => -1 },
      'The limit function of rate limit rule "r" returned -1 for this request. Expected an integer from 0 to 1000000000, or Infinity for no limit.',
    ],
    [
      'limit of a log',
      { limit: () => 10_001, algorithm: 'sliding-log' },
      'The limit function of rate limit rule "r" returned 10001 for this request. Expected an integer from 0 to 10000, or',
    ],
    [
      'cost',
      { cost: () => Infinity },
      'The cost function of rate limit rule "r" returned Infinity for this request. Expected an integer from 0 to 1000000000.',
    ],
    ['part of a hit', { cost: () => 1.5 }, 'The cost function of rate limit rule "r" returned 1.5 for this request.'],
    [
      'subject',
      { subject: () => 5 as never },
      'The subject function of rate limit rule "r" returned 5. Expected text, or undefined if the request has no subject.',
    ],
  ])('is an error of the app with an invalid %s', async (_, options, message) => {
    const evaluated = evaluate(options);
    await expect(evaluated).rejects.toThrow(message);
    await expect(evaluated).rejects.toBeInstanceOf(InvalidInputError);
  });

  it.each([0, 1_000_000_000])('may have a limit and a cost of %p', async (most) => {
    expect(await evaluate({ limit: () => most, cost: () => most })).toMatchObject({ limit: most, cost: most });
  });

  it('passes on the error of a function', async () => {
    await expect(evaluate({ skip: () => Promise.reject(new Error('own')) })).rejects.toThrow('own');
  });
});

describe('the decision of a call', () => {
  const handler = (): void => undefined;
  const decision = { allowed: true } as RateLimitDecision;
  const resultOf = (args: unknown[], type = 'http', of = handler) =>
    getRateLimitResult({
      getHandler: () => of,
      getArgs: () => args,
      getType: () => type,
    } as unknown as ExecutionContext);

  it('is found on the object of the call, for the same handler', () => {
    const call = {};
    keepResult(call, handler, decision);
    expect([resultOf([call]), resultOf([null, 'text', 5, {}, call])]).toEqual([decision, decision]);
    expect([resultOf([call], 'http', () => undefined), resultOf([{}]), resultOf([])]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('is found behind an argument that is undefined, such as the parent of a GraphQL query', () => {
    const call = {};
    keepResult(call, handler, decision);
    expect(resultOf([undefined, call], 'graphql')).toBe(decision);
  });

  it('is not kept on an object that takes no properties', () => {
    const call = Object.freeze({});
    expect(() => keepResult(call, handler, decision)).not.toThrow();
    expect(resultOf([call])).toBeUndefined();
  });

  it('of a WebSocket message is that of its payload, not that of an earlier message of the client', () => {
    const [client, payload] = [{}, {}];
    keepResult(client, handler, decision);
    expect(resultOf([client, payload], 'ws')).toBeUndefined();
    expect(resultOf([client, payload], 'rpc')).toBe(decision);
    expect([resultOf([client, 'text'], 'ws'), resultOf([client, null], 'ws'), resultOf([client], 'ws')]).toEqual([
      decision,
      decision,
      decision,
    ]);
    keepResult(payload, handler, { allowed: false } as RateLimitDecision);
    expect(resultOf([client, payload], 'ws')).toEqual({ allowed: false });
  });
});
