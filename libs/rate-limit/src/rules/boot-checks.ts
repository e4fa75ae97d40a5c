import type { Type } from '@nestjs/common';
import { Checks, shown } from '../../../internal/src';
import { RateLimitInterceptor } from '../rate-limit.interceptor';
import type { GuardedRoutes } from './guarded-routes';
import { metadata, type Handler } from './route-names';
import { SKIP_METADATA, type Declarations, type DeclaredRule, type RoutePlans } from './route-rules';
import type { NamedRule } from './rule';

/** A class with the methods to which `@RateLimit()` or `@SkipRateLimit()` applies. */
export interface ExploredClass {
  readonly target: Type<unknown>;
  readonly methods: readonly { readonly handler: Handler; readonly declared: Declarations }[];
}

/** Metadata keys of Nest on handlers of message patterns, WebSocket messages and GraphQL fields. */
const NON_HTTP_HANDLERS = ['microservices:pattern', 'message', 'graphql:resolver_type', 'graphql:resolve_property'];

const rateLimitOn = (where: string): Checks => new Checks(`@RateLimit on ${where}`);

/** Checks the rules when the app boots, and refuses rules that cannot work. */
export class BootChecks {
  /** First rule that was found with each name, and its place: a decorator, or the options of the module. */
  private readonly first = new Map<string, { readonly rule: NamedRule; readonly where: string }>();
  /** Class or method for each rule name that was made from a route. */
  private readonly owners = new Map<string, { readonly where: string; readonly parts: readonly unknown[] }>();

  private readonly rules: readonly NamedRule[];

  /** @param interceptor true if RateLimitInterceptor is applied to every handler */
  constructor(
    private readonly plans: RoutePlans,
    private readonly guarded: GuardedRoutes,
    private readonly interceptor: boolean,
  ) {
    this.rules = plans.rules;
    for (const rule of this.rules) this.first.set(rule.name, { rule, where: 'the rules of RateLimitModule' });
  }

  /** Checks a class and its methods. @throws InvalidOptionError that names the decorator, and the class or the method */
  check({ target, methods }: ExploredClass): void {
    const ofClass = methods[0]?.declared.ofClass ?? [];
    this.checkRules(ofClass, target.name, [target]);
    const classIsGuarded = this.guarded.has(target);
    if (ofClass.length > 0 && !classIsGuarded && !methods.some(({ handler }) => this.guarded.has(handler))) {
      throw notGuarded(target.name, 'the class');
    }
    for (const { handler, declared } of methods) {
      const where = `${target.name}.${handler.name}`;
      this.checkRules(declared.ofMethod, where, [target, handler]);
      if (declared.ofMethod.length > 0 && !classIsGuarded && !this.guarded.has(handler)) {
        throw notGuarded(where, 'the method or its class');
      }
      this.checkSkips(declared.skippedByMethod, [...declared.ofClass, ...declared.ofMethod], where);
    }
    const ofMethods = methods.flatMap(({ declared }) => declared.ofMethod);
    this.checkSkips(methods[0]?.declared.skippedByClass, [...ofClass, ...ofMethods], target.name);
  }

  /**
   * Refuses a rule of the module with a `count` other than `all` if nothing can report whether a guarded handler succeeded: the handler has
   * no HTTP response, and RateLimitInterceptor does not apply to it.
   *
   * @throws InvalidOptionError that names the rule, the class and the method
   */
  checkOutcomes(target: Type<unknown>, handler: Handler): void {
    if (this.interceptor || this.rules.every(({ count }) => count === 'all')) return;
    if (!NON_HTTP_HANDLERS.some((key) => Reflect.hasMetadata(key, handler))) return;
    if (!this.guarded.has(target) && !this.guarded.has(handler)) return;
    if (
      [target, handler].some((each) => metadata<unknown[]>('__interceptors__', each)?.includes(RateLimitInterceptor))
    ) {
      return;
    }
    const rule = this.plans.of(target, handler).rules.find((each) => each.count !== 'all' && this.rules.includes(each));
    if (rule === undefined) return;
    throw new Checks('RateLimitModule').error(
      `Rule ${shown(rule.name)} has count: ${shown(rule.count)}, but ${target.name}.${handler.name} is not an HTTP route, so it ` +
        'has no status that says whether the handler succeeded. Set interceptor: true in RateLimitModule.forRoot().',
    );
  }

  /**
   * Returns the names of methods that have RateLimitGuard, but no rule and no `@SkipRateLimit()`. If the guard is on the class, returns the
   * name of the class instead, and only if all of its methods have no rule and no `@SkipRateLimit()`.
   */
  uselessGuards(target: Type<unknown>, handlers: readonly Handler[]): string[] {
    const isIdle = (handler: Handler): boolean =>
      this.plans.of(target, handler).rules.length === 0 &&
      ![target, handler].some((each) => metadata<unknown>(SKIP_METADATA, each) !== undefined);
    if (this.guarded.declares(target)) return handlers.every(isIdle) ? [target.name] : [];
    return handlers
      .filter((handler) => this.guarded.declares(handler) && isIdle(handler))
      .map(({ name }) => `${target.name}.${name}`);
  }

  private checkRules(declared: readonly DeclaredRule[], where: string, parts: readonly unknown[]): void {
    for (const { rule, derived } of declared) {
      this.checkShared(rule, where);
      if (derived) this.checkOwner(rule.name, where, parts);
    }
  }

  /** Refuses rules that have the same name, but different windows or algorithms, and so different counters. */
  private checkShared(rule: NamedRule, where: string): void {
    const { name } = rule;
    const first = this.first.get(name);
    if (first === undefined) this.first.set(name, { rule, where: `@RateLimit on ${where}` });
    for (const option of ['windowMs', 'algorithm'] as const) {
      if (first === undefined || first.rule[option] === rule[option]) continue;
      throw rateLimitOn(where).error(
        `${option} of rule ${shown(name)} is ${shown(rule[option])}, but ${shown(first.rule[option])} in ${first.where}. ` +
          `Rules with the same name share one counter, so they need the same ${option}. Give this rule another name. ` +
          `If this rule should replace the other one here, also add @SkipRateLimit(${shown(name)}).`,
      );
    }
  }

  /** Refuses two rules without a name whose routes give them the same name. */
  private checkOwner(name: string, where: string, parts: readonly unknown[]): void {
    const owner = this.owners.get(name);
    if (owner === undefined) this.owners.set(name, { where, parts });
    else if (owner.parts.some((part, i) => part !== parts[i])) {
      throw rateLimitOn(where).error(
        `This rule and a rule of ${owner.where} have no name, and both would get the name ${shown(name)} from their routes. ` +
          'Set the option `name` of both rules.',
      );
    }
  }

  private checkSkips(skipped: readonly string[] = [], declared: readonly DeclaredRule[], where: string): void {
    const names = new Set([...this.rules, ...declared.map(({ rule }) => rule)].map(({ name }) => name));
    const unknown = skipped.find((name) => !names.has(name));
    if (unknown === undefined) return;
    throw new Checks(`@SkipRateLimit on ${where}`).error(
      `No rule named ${shown(unknown)} applies here. Rules that apply: ${[...names].map((name) => shown(name)).join(', ') || 'none'}.`,
    );
  }
}

function notGuarded(where: string, on: string): Error {
  return rateLimitOn(where).error(
    `The rule is not enforced, because no RateLimitGuard was found. Add @UseGuards(RateLimitGuard) to ${on}, or provide ` +
      'the guard as APP_GUARD.',
  );
}
