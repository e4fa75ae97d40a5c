import type { ExecutionContext } from '@nestjs/common';
import {
  RateLimitException,
  type RateLimitDecision,
  type RateLimitRule,
  type RateLimitService,
} from 'luanest/rate-limit';
import { HttpResponses } from '../src/responses/http-responses';
import { resolveResponses } from '../src/responses/responses.options';
import { MemoryLimiter } from '../src/limiter/memory-limiter';
import { resolveOptions } from '../src/rate-limit.options';
import { seeded, serviceOf } from './support';

let nowUs = 0;
let service: RateLimitService;
const headers = (decision: RateLimitDecision): Record<string, string> => ({
  ...new HttpResponses(resolveResponses({})).headers(decision),
});

beforeEach(() => {
  // 18 s into a minute.
  nowUs = (Date.UTC(2026, 0, 1) + 18_000) * 1_000;
  const clocks = { monotonicMs: () => nowUs / 1_000, wallUs: () => nowUs };
  service = serviceOf(new MemoryLimiter(() => nowUs, 100), resolveOptions({}), { clocks });
});

it.each<[string, Partial<RateLimitRule>, number, string]>([
  ['token-bucket', { limit: 60, algorithm: 'token-bucket' }, 60, '"a";r=0;t=1'],
  ['token-bucket', { limit: 60, algorithm: 'token-bucket' }, 1, '"a";r=59;t=1'],
  ['sliding-window', { limit: 6, algorithm: 'sliding-window' }, 6, '"a";r=0;t=52'],
  ['fixed-window', { limit: 6 }, 6, '"a";r=0;t=60'],
])('t is the time to the next hit: %s', async (_algorithm, options, cost, expected) => {
  const rule = { name: 'a', limit: 1, windowMs: 60_000, ...options };
  const decision = await service.consume(rule, 's', { cost });
  expect(headers(decision)['RateLimit']).toBe(expected);
  const [, t] = /t=(\d+)/.exec(expected) ?? [];
  expect(headers(decision)['X-RateLimit-Reset']).toBe(t);
  nowUs += Number(t) * 1_000_000;
  expect((await service.peek(rule, 's')).rules[0]?.remaining).toBeGreaterThan(decision.rules[0]?.remaining ?? 0);
});

it.each<[RateLimitRule['algorithm'], string]>([
  ['sliding-log', '"a";r=1;t=10'],
  // 8 s into the next minute. 22 s later, the previous minute weighs one half, so its two hits count as one.
  ['sliding-window', '"a";r=1;t=22'],
  ['fixed-window', '"a";r=1;t=10'],
])('t after hits at several times: %s', async (algorithm, expected) => {
  const rule = { name: 'a', limit: 4, windowMs: 60_000, algorithm } as const;
  await service.consume(rule, 's');
  nowUs += 25_000_000;
  await service.consume(rule, 's');
  nowUs += 25_000_000;
  expect(headers(await service.consume(rule, 's'))['RateLimit']).toBe(expected);
});

it.each(['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const)(
  'no further hit is allowed before nextMs, and one is then, for any traffic: %s',
  async (algorithm) => {
    const random = seeded(7);
    const clocks = { monotonicMs: () => nowUs / 1_000, wallUs: () => nowUs };
    const settings = { clocks, cachedRefusals: 0 };
    service = serviceOf(new MemoryLimiter(() => nowUs, 100), resolveOptions({}), settings);
    const rule = { name: 'a', limit: 9, windowMs: 10_000, algorithm };
    const remaining = async (): Promise<number> => (await service.peek(rule, 's')).rules[0]?.remaining ?? -1;
    for (let i = 0; i < 400; i++) {
      const [seen] = (await service.consume(rule, 's', { cost: Math.floor(random() * 4) })).rules;
      if (seen === undefined) throw new Error('no rule');
      if (seen.allowed && seen.used > 0) {
        const at = nowUs;
        nowUs = at + seen.nextMs * 1_000;
        expect(await remaining()).toBeGreaterThan(seen.remaining);
        // Rounded up to ms.
        nowUs -= 1_000;
        expect(await remaining()).toBe(seen.remaining);
        nowUs = at;
      } else if (seen.allowed) expect(seen.nextMs).toBe(0);
      nowUs += Math.floor(random() * random() * 6_000_000);
    }
  },
);

it('the policy of a bucket has its burst, and the time in which the burst is refilled', async () => {
  const rule = { name: 'a', limit: 1, windowMs: 10_000, algorithm: 'token-bucket', burst: 50 } as const;
  expect(headers(await service.consume(rule, 's'))).toMatchObject({
    'X-RateLimit-Limit': '50',
    'RateLimit-Policy': '"a";q=50;w=500',
    RateLimit: '"a";r=49;t=10',
  });
});

describe('a request that costs more than the limit', () => {
  const context = {} as ExecutionContext;
  it.each<[string, Partial<RateLimitRule>, number]>([
    ['of a window', { limit: 5 }, 5],
    ['of a bucket', { limit: 50, algorithm: 'token-bucket', burst: 5 }, 5],
    ['of a blocking rule', { limit: 5, blockMs: 1_000 }, 5],
    ['which is 0', { limit: 0 }, 0],
  ])('is refused for ever: %s', async (_what, more, most) => {
    const rule = { name: 'a', limit: 5, windowMs: 60_000, ...more };
    // The second refusal comes from the cache.
    for (const source of ['redis', 'cache']) {
      const decision = await service.consume(rule, 's', { cost: most + 1 });
      expect(decision).toMatchObject({
        ...{ allowed: false, source, reason: 'cost-over-limit', retryAfterMs: Infinity },
        rules: [{ retryAfterMs: Infinity, nextMs: Infinity }],
      });
      const sent = headers(decision);
      expect(sent['RateLimit']).toBe(`"a";r=${decision.rules[0]?.remaining}`);
      expect(Object.keys(sent).sort()).toEqual([
        ...['RateLimit', 'RateLimit-Policy', 'X-RateLimit-Limit', 'X-RateLimit-Remaining'],
      ]);
      expect(new HttpResponses(resolveResponses({})).refusal(decision, context)).toMatchObject({
        status: 429,
        body: {
          detail: `This request can never be allowed, so do not repeat it: it counts as ${most + 1} hits, and at most ${most} hits are allowed at once.`,
          'violated-policies': ['a'],
        },
      });
    }
    if (most === 0 || rule.blockMs !== undefined) return;
    expect(await service.consume(rule, 's', { cost: most })).toMatchObject({ allowed: true });
  });
});

it.each([
  ['over a limit', 'Too Many Requests', { code: 'RATE_LIMITED', status: 429 }, { limit: 1 }],
  ['for ever', 'Too Many Requests', { code: 'RATE_LIMITED', status: 429 }, { limit: 0 }],
  ['without Redis', 'Service Unavailable', { code: 'RATE_LIMIT_UNAVAILABLE', status: 503 }, undefined],
])(
  'an exception names its status and has extensions for GraphQL: %s',
  async (_reason, description, extensions, options) => {
    const rule = { name: 'a', windowMs: 60_000, ...(options ?? { limit: 1, onRedisError: 'deny' as const }) };
    if (options) await service.consume(rule, 's');
    else {
      const limiter = { consume: () => Promise.reject(new Error('gone')) };
      service = serviceOf(limiter as never, resolveOptions({}));
    }
    const decision = await service.consume(rule, 's');
    const { status, body } = new HttpResponses(resolveResponses({})).refusal(decision, {} as ExecutionContext);
    const exception = new RateLimitException(decision, status, body);
    expect(exception).toMatchObject({ options: { description } });
    expect(exception.extensions).toEqual({
      ...extensions,
      ...(options ? { violatedPolicies: ['a'] } : {}),
      ...(options?.limit === 1 ? { retryAfterMs: 60_000 } : {}),
    });
  },
);

it('a cached refusal names all policies', async () => {
  const checks = [
    { rule: { name: 'a', limit: 1, windowMs: 60_000 }, subject: 's' },
    { rule: { name: 'b', limit: 50, windowMs: 60_000 }, subject: 's' },
  ];
  const policies: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    const decision = await service.consume(checks);
    policies.push([decision.source, headers(decision)['RateLimit-Policy']]);
  }
  const both = '"a";q=1;w=60, "b";q=50;w=60';
  expect(policies).toEqual([
    ['redis', both],
    ['redis', both],
    ['cache', both],
  ]);
});
