import { type ExecutionContext, Logger, type Type } from '@nestjs/common';
import { RateLimitEnforcer } from '../src/rate-limit.guard';
import { resolveOptions, type RateLimitModuleOptions } from '../src/rate-limit.options';
import type { RateLimitDecision } from '../src/rate-limit.types';

export const MINUTE = { windowMs: 60_000 };
export const ADDRESS = '192.0.2.1';

/** A route without rules of its own. */
export class Plain {
  find(): void {}
}

/** Request of an HTTP route. */
export const request = (parts: object = {}): object => ({ ip: ADDRESS, headers: {}, ...parts });

/** Context of a call, as guards and interceptors get it. */
export function contextOf(
  parts: { target?: Type; method?: string; kind?: string; args?: readonly unknown[] } = {},
): ExecutionContext {
  const { target = Plain, method = 'find', kind = 'http', args = [request()] } = parts;
  const handler: unknown = Reflect.get(target.prototype as object, method);
  const context = {
    getClass: () => target,
    getHandler: () => handler,
    getType: () => kind,
    getArgs: () => args,
    getArgByIndex: (index: number) => args[index],
  };
  return context as unknown as ExecutionContext;
}

const NOTHING_DECIDED: RateLimitDecision = {
  allowed: false,
  source: 'none',
  reason: undefined,
  retryAfterMs: 0,
  rules: [],
  policies: [],
};

/** Enforcer of a service that gives `answer`. The service shows the checks and the refunds that it got. */
export function open(options: RateLimitModuleOptions = {}, given: Partial<RateLimitDecision> = { allowed: true }) {
  const answer = 'rules' in given ? given : { ...NOTHING_DECIDED, ...given };
  const service = {
    consume: jest.fn((checks: readonly unknown[]) => (void checks, Promise.resolve(answer))),
    refund: jest.fn((decision: unknown, names: readonly string[]): unknown => void [decision, names]),
  };
  const enforcer = new RateLimitEnforcer(service as never, resolveOptions(options));
  /** Names and subjects of the checks of all calls. */
  const checked = (): unknown[] =>
    service.consume.mock.calls.map(([checks]) =>
      (checks as { rule: { name: string }; subject: string }[]).map(({ rule, subject }) => [rule.name, subject]),
    );
  return { enforcer, service, checked };
}

/** Collects the warnings of each test of the block, with the context of the logger. */
export function collectWarnings(): readonly unknown[][] {
  const warnings: unknown[][] = [];
  beforeEach(() => {
    warnings.length = 0;
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(function (this: { context?: string }, text: unknown) {
      warnings.push([this.context, text]);
    });
  });
  afterEach(() => void jest.restoreAllMocks());
  return warnings;
}
