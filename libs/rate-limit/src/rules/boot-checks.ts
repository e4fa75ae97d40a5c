import type { Type } from '@nestjs/common';
import { InvalidOptionError, shown } from '../../../internal/src';
import { RateLimitInterceptor } from '../rate-limit.interceptor';
import type { GuardedRoutes } from './guarded-routes';
import { metadata, type Handler } from './route-names';
import type { Declarations, DeclaredRule, RoutePlans } from './route-rules';
import type { NamedRule } from './rule';

/** A class with its methods that have rules, or leave some out. */
export interface ExploredClass {
  readonly target: Type<unknown>;
  readonly methods: readonly { readonly handler: Handler; readonly said: Declarations }[];
}

/** Metadata of handlers of messages, of WebSocket messages and of GraphQL. */
const OTHER_HANDLERS = ['microservices:pattern', 'message', 'graphql:resolver_type', 'graphql:resolve_property'];

const inDecorator = (where: string): string => `@RateLimit() of ${where}`;

/** Refuses, when an app boots, rules that cannot do what they say. */
export class BootChecks {
  /** By name: the first rule, and where it is. */
  private readonly first = new Map<string, { readonly rule: NamedRule; readonly where: string }>();
  /** By name that comes from a route: the class or the method that it belongs to. */
  private readonly owners = new Map<string, { readonly owner: string; readonly of: readonly unknown[] }>();

  private readonly rules: readonly NamedRule[];

  /** @param interceptor whether RateLimitInterceptor is on every handler */
  constructor(
    private readonly plans: RoutePlans,
    private readonly guarded: GuardedRoutes,
    private readonly interceptor: boolean,
  ) {
    this.rules = plans.rules;
    for (const rule of this.rules) this.first.set(rule.name, { rule, where: "the module's rules" });
  }

  /** @throws InvalidOptionError naming class and method, and what to do */
  check({ target, methods }: ExploredClass): void {
    const ofClass = methods[0]?.said.ofClass ?? [];
    this.checkAll(ofClass, target.name, [target]);
    const guards = this.guarded.has(target);
    if (ofClass.length > 0 && !guards && !methods.some(({ handler }) => this.guarded.has(handler))) {
      throw notEnforced(target.name, 'the class');
    }
    for (const { handler, said } of methods) {
      const where = `${target.name}.${handler.name}`;
      this.checkAll(said.ofMethod, where, [target, handler]);
      if (said.ofMethod.length > 0 && !guards && !this.guarded.has(handler))
        throw notEnforced(where, 'it or its class');
      this.checkSkips(said.skippedByMethod, [...said.ofClass, ...said.ofMethod], where);
    }
    const all = methods.flatMap(({ said }) => said.ofMethod);
    this.checkSkips(methods[0]?.said.skippedByClass, [...ofClass, ...all], target.name);
  }

  /**
   * Refuses a rule of every route that counts by outcome where nothing would see the outcome.
   *
   * @throws InvalidOptionError naming the rule, class and method
   */
  checkOutcomes(target: Type<unknown>, handler: Handler): void {
    if (this.interceptor || this.rules.every(({ count }) => count === 'all')) return;
    if (!OTHER_HANDLERS.some((key) => Reflect.hasMetadata(key, handler))) return;
    if (!this.guarded.has(target) && !this.guarded.has(handler)) return;
    if (metadata<unknown[]>('__interceptors__', handler)?.includes(RateLimitInterceptor)) return;
    const rule = this.plans.of(target, handler).rules.find((each) => each.count !== 'all' && this.rules.includes(each));
    if (rule === undefined) return;
    throw new InvalidOptionError(
      `Rule ${shown(rule.name)} counts ${rule.count} on every route, and ${target.name}.${handler.name} has no HTTP response ` +
        'to tell them by. Give the module interceptor: true next to its options.',
    );
  }

  private checkAll(declared: readonly DeclaredRule[], where: string, of: readonly unknown[]): void {
    for (const { rule, derived } of declared) {
      this.checkSame(rule, where);
      if (derived) this.checkOwner(rule.name, where, of);
    }
  }

  /** Rules of one name count together, which those of two windows or algorithms cannot. */
  private checkSame(rule: NamedRule, where: string): void {
    const { name } = rule;
    const known = this.first.get(name);
    if (known === undefined) this.first.set(name, { rule, where: inDecorator(where) });
    for (const what of ['windowMs', 'algorithm'] as const) {
      if (known === undefined || known.rule[what] === rule[what]) continue;
      throw new InvalidOptionError(
        `Rule ${shown(name)} has ${what} ${rule[what]} in ${inDecorator(where)}, but ${known.rule[what]} in ${known.where}. ` +
          `Rules of one name count together, so they need one ${what}. Rename one of them; where the other is to be left ` +
          `out, add @SkipRateLimit(${shown(name)}).`,
      );
    }
  }

  private checkOwner(name: string, where: string, of: readonly unknown[]): void {
    const known = this.owners.get(name);
    if (known === undefined) this.owners.set(name, { owner: where, of });
    else if (known.of.some((part, i) => part !== of[i])) {
      throw new InvalidOptionError(
        `@RateLimit() of ${known.owner} and of ${where} both have a rule without a name, and both routes are ${shown(name)}. ` +
          `They would share a counter. Give each rule a name.`,
      );
    }
  }

  private checkSkips(skipped: readonly string[] = [], declared: readonly DeclaredRule[], where: string): void {
    const names = new Set([...this.rules, ...declared.map(({ rule }) => rule)].map(({ name }) => name));
    const unknown = skipped.find((name) => !names.has(name));
    if (unknown === undefined) return;
    throw new InvalidOptionError(
      `@SkipRateLimit() of ${where} names ${shown(unknown)}, and no rule there has that name. Rules there: ` +
        `${[...names].map((name) => shown(name)).join(', ') || 'none'}.`,
    );
  }
}

function notEnforced(where: string, on: string): InvalidOptionError {
  return new InvalidOptionError(
    `${inDecorator(where)} limits nothing, because RateLimitGuard is not there. Put @UseGuards(RateLimitGuard) on ${on}, ` +
      'or provide it as APP_GUARD.',
  );
}
