import { LuanestError } from 'luanest/script-registry';
import { resolveOptions as once } from '../libs/once/src/once.options';
import { resolveOptions as rateLimit } from '../libs/rate-limit/src/rate-limit.options';
import { resolveOptions as redPacket } from '../libs/red-packet/src/red-packet.options';
import { resolveOptions as registry } from '../libs/script-registry/src/script-registry.options';
import { hostileValues, isPolluted } from './support/hostile';

// The other libs try theirs in their own hostile.spec.ts.
const resolvers: readonly [lib: string, resolve: (options: never) => object, base: object][] = [
  ['script-registry', registry, {}],
  ['rate-limit', rateLimit, {}],
  ['once', once, { idempotency: { subject: () => 'u' } }],
  ['red-packet', redPacket, { identity: () => 'u' }],
];

it.each(resolvers)('options of %s are taken or refused by name, and change no other object', (_lib, resolve, base) => {
  const wrong: string[] = [];
  const attempt = (options: object, option: string): void => {
    try {
      resolve(options as never);
    } catch (error) {
      if (!(error instanceof LuanestError) || error.message.length > 500) {
        wrong.push(`${option}: ${String(error).slice(0, 200)}`);
      }
    }
  };
  const known = Object.keys(resolve(base as never));
  expect(known.length).toBeGreaterThan(3);
  for (const value of hostileValues()) {
    attempt(value as object, 'all of them');
    for (const option of [...known, '__proto__', 'constructor', 'toString']) {
      attempt({ ...base, [option]: value }, option);
    }
  }
  attempt(JSON.parse('{"__proto__":{"polluted":true}}') as object, '__proto__');
  expect(wrong).toEqual([]);
  expect(isPolluted()).toBe(false);
});

it('options of idempotency and of rules are taken or refused by name', () => {
  const wrong: string[] = [];
  const subject = (): string => 'u';
  const attempts: [string, (value: unknown) => object][] = [
    ['header', (value) => once({ idempotency: { subject, header: value as string } })],
    ['onRedisError', (value) => once({ idempotency: { subject, onRedisError: value as 'run' } })],
    ['subject', (value) => once({ idempotency: { subject: value as () => string } })],
    ['rules', (value) => rateLimit({ rules: [value as never] })],
    ['limit', (value) => rateLimit({ rules: [{ name: 'a', limit: value as number, windowMs: 1 }] })],
    ['name', (value) => rateLimit({ rules: [{ name: value as string, limit: 1, windowMs: 1 }] })],
    [
      'maxBlockMs',
      (value) => rateLimit({ rules: [{ name: 'a', limit: 1, windowMs: 1, blockMs: 1, maxBlockMs: value as never }] }),
    ],
  ];
  for (const value of hostileValues()) {
    for (const [name, attempt] of attempts) {
      try {
        attempt(value);
      } catch (error) {
        if (!(error instanceof LuanestError)) wrong.push(`${name}: ${String(error).slice(0, 200)}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});
