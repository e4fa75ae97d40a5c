import type { Type } from '@nestjs/common';
import { resolveOptions } from '../src/rate-limit.options';
import { BootChecks } from '../src/rules/boot-checks';
import type { GuardedRoutes } from '../src/rules/guarded-routes';
import type { Handler } from '../src/rules/route-names';
import { RoutePlans } from '../src/rules/route-rules';
import type { RateLimitRule } from '../src/rules/rule';

export const minute = { limit: 5, windowMs: 60_000 };

export function handlerOf(target: Type, name: string): Handler {
  return Reflect.get(target.prototype as object, name) as Handler;
}

/** Checks of the rules of a module and of routes. Everything is guarded, unless `guarded` lists what is. */
export function open(parts: { rules?: RateLimitRule[]; guarded?: readonly unknown[]; interceptor?: boolean } = {}) {
  const plans = new RoutePlans(resolveOptions({ rules: parts.rules ?? [] }).rules);
  const has = jest.fn((one: unknown) => parts.guarded?.includes(one) ?? true);
  const checks = new BootChecks(plans, { has } as unknown as GuardedRoutes, parts.interceptor ?? false);
  const messageOf = (run: () => void): string => {
    try {
      run();
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
    return 'accepted';
  };
  return {
    has,
    /** Checks a class and its methods. Returns the message of the refusal; 'accepted' without one. */
    check: (target: Type, ...names: string[]): string =>
      messageOf(() => {
        const handlers = names.map((name) => handlerOf(target, name));
        const methods = handlers.map((handler) => ({ handler, declared: plans.declarations(target, handler) }));
        checks.check({ target, methods });
      }),
    checkOutcomes: (target: Type, name = 'one'): string =>
      messageOf(() => checks.checkOutcomes(target, handlerOf(target, name))),
  };
}

/** Message of a refusal. */
export const refused = (where: string, text: string): string => `InvalidOptionError: ${where}: ${text}`;
