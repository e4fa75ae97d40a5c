import { createParamDecorator, UseInterceptors, type ExecutionContext } from '@nestjs/common';
import { classOrMethodDecorator, shown } from '../../internal/src';
import { RateLimitInterceptor } from './rate-limit.interceptor';
import type { RateLimitDecision } from './rate-limit.types';
import { resolveRule } from './rules/resolve-rule';
import { getRateLimitResult } from './rules/results';
import { RULES_METADATA, SKIP_METADATA } from './rules/route-rules';
import type { RateLimitRule, ResolvedRule } from './rules/rule';

type AnyDecorator = ClassDecorator & MethodDecorator;

/**
 * Limits requests. On a method, the rules apply to its route. On a class, the rules apply to all routes of the class, and these routes
 * share the counters. RateLimitGuard enforces the rules.
 *
 * If rules have the same name, the method's rule replaces the class's rule, and the class's rule replaces the module's.
 *
 * @throws InvalidOptionError when the class is loaded, if a rule is invalid. Also when an app with RateLimitModule boots: if no guard
 *   enforces a rule, if a rule has no name and cannot get one from its route, or if the name of a rule conflicts with the name of another
 *   rule
 *
 * @example `@UseGuards(RateLimitGuard) @RateLimit({ limit: 5, windowMs: 1_000 }) @Get('orders') list() { return 'No orders'; }`
 */
export function RateLimit(...rules: readonly [RateLimitRule, ...RateLimitRule[]]): AnyDecorator {
  return classOrMethodDecorator('@RateLimit', ({ on, checks, apply }) => {
    if (rules.length === 0)
      throw checks.error(
        'There are no rules. Give at least one rule, such as @RateLimit({ limit: 5, windowMs: 1_000 }).',
      );
    const resolved = rules.map((rule, i) => resolveRule(rule, rules.length === 1 ? checks : checks.in(`rules[${i}]`)));
    const below = (Reflect.getOwnMetadata(RULES_METADATA, on) as ResolvedRule[] | undefined) ?? [];
    Reflect.defineMetadata(RULES_METADATA, [...resolved, ...below], on);
    const refunds = (list: readonly ResolvedRule[]): boolean => list.some(({ count }) => count !== 'all');
    if (refunds(resolved) && !refunds(below)) apply(UseInterceptors(RateLimitInterceptor));
  });
}

/**
 * Exempts a route (on a method), or all routes of a class (on the class), from the named rules. Without names, it exempts from
 * all rules. A method may have several `@SkipRateLimit()`: all of them apply.
 *
 * @throws InvalidOptionError when the class is loaded, if a name is empty or not text. Also when an app with RateLimitModule
 * boots, if no rule of the route has the name
 *
 * @example
 * `@SkipRateLimit('burst') @Get('health') health() { return 'ok'; }`
 */
export function SkipRateLimit(...names: readonly string[]): AnyDecorator {
  return classOrMethodDecorator('@SkipRateLimit', ({ on, checks }) => {
    const wrong = names.find((name) => typeof name !== 'string' || name === '');
    if (wrong !== undefined)
      throw checks.error(
        `A name of a rule is ${shown(wrong)}. Expected text of at least 1 character. To skip all rules, give no names.`,
      );
    const below = Reflect.getOwnMetadata(SKIP_METADATA, on) as string[] | undefined;
    const all = names.length === 0 || below?.length === 0;
    Reflect.defineMetadata(SKIP_METADATA, all ? [] : [...new Set([...names, ...(below ?? [])])], on);
  });
}

/**
 * Injects the decision of RateLimitGuard into a parameter of a handler: `@RateLimitResult() limits: RateLimitDecision | undefined`.
 *
 * The decision is undefined if no rule applied to the request, if no RateLimitGuard decided it, or if the method `call` of the app's own
 * adapter (option `contexts`) returned undefined. If the payload of a WebSocket message is not an object, the decision is stored on the
 * client object, which all messages of the client share. Then a handler may get the decision of a later message, or undefined.
 */
export const RateLimitResult: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RateLimitDecision | undefined => getRateLimitResult(context),
);
