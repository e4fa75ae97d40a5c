import type { Type } from '@nestjs/common';
import { Checks, CONSOLE, shown } from '../../../internal/src';
import { memoryId } from '../limiter/decision';
import { named } from './resolve-rule';
import { classRouteOf, metadata, routeOf, short, type Handler } from './route-names';
import type { NamedRule, ResolvedRule } from './rule';

/** Metadata key of `@RateLimit()`, whose value is an array of ResolvedRule. */
export const RULES_METADATA = 'luanest:rate-limit:rules';
/** Metadata key of `@SkipRateLimit()`, whose value lists the names of skipped rules; an empty array skips all. */
export const SKIP_METADATA = 'luanest:rate-limit:skip';

export interface RoutePlan {
  readonly rules: readonly NamedRule[];
  /** True if no rule has a function. Then all rules count the address of the client, with a known limit and cost. */
  readonly fixed: boolean;
  /** True if a rule has a `count` other than `all`, so that hits may have to be refunded after the handler. */
  readonly refunds: boolean;
}

export interface DeclaredRule {
  readonly rule: NamedRule;
  /** True if the rule got its name from its route. */
  readonly derived: boolean;
}

/** Values of `@RateLimit()` and `@SkipRateLimit()` on one class and one of its methods. */
export interface Declarations {
  readonly ofClass: readonly DeclaredRule[];
  readonly ofMethod: readonly DeclaredRule[];
  /** Names of skipped rules. Undefined: no rule is skipped. Empty: all rules are skipped. */
  readonly skippedByClass: readonly string[] | undefined;
  readonly skippedByMethod: readonly string[] | undefined;
}

/** Gives each rule without a name the name of its route; ` #2` is added for the second one, and so on. */
function nameAll(rules: readonly ResolvedRule[] = [], route: string | undefined, where: string): DeclaredRule[] {
  let unnamed = 0;
  return rules.map((rule) => {
    if (rule.name !== undefined) return { rule: named(rule, rule.name), derived: false };
    if (route === undefined) {
      throw new Checks(`@RateLimit on ${where}`).error(
        'A rule has no name. Set the option `name` of the rule. A rule gets the name of its route only if the route has exactly one ' +
          'address. A method of a provider, a @ResolveField(), and a controller in two modules with two paths do not.',
      );
    }
    unnamed += 1;
    return { rule: named(rule, short(unnamed === 1 ? route : `${route} #${unnamed}`)), derived: true };
  });
}

function refuseDuplicates(declared: readonly DeclaredRule[], where: string): void {
  const names = declared.map(({ rule }) => rule.name);
  const duplicate = names.find((name, i) => names.indexOf(name) !== i);
  if (duplicate === undefined) return;
  throw new Checks(`@RateLimit on ${where}`).error(`Two rules have the name ${shown(duplicate)}. Rename one of them.`);
}

function isFixed({ limit, cost, subject, skip }: NamedRule): boolean {
  return typeof limit === 'number' && typeof cost === 'number' && subject === undefined && skip === undefined;
}

/** Finds the rules of each route, once per route. */
export class RoutePlans {
  private readonly plans = new WeakMap<object, WeakMap<object, RoutePlan>>();
  /** Rules of `@RateLimit()`, by algorithm, window and name. */
  private readonly declared = new Map<string, NamedRule>();
  private readonly modulePaths = new WeakMap<object, Set<string>>();

  constructor(readonly rules: readonly NamedRule[]) {}

  /** Notes the path that RouterModule gives the module of a controller. Must be called before `of` and `declarations`. */
  addModulePath(target: Type<unknown>, path: string): void {
    const paths = this.modulePaths.get(target) ?? new Set();
    this.modulePaths.set(target, paths.add(path));
  }

  /**
   * Returns the rules of a route, from module, class and method, without skipped ones. If rules have the same name, the method's
   * rule applies, or else the class's rule.
   *
   * @throws InvalidOptionError for a rule that cannot get a name, and for two rules with the same name on one class or method
   */
  of(target: Type<unknown>, handler: Handler): RoutePlan {
    const cached = this.plans.get(target)?.get(handler);
    if (cached) return cached;
    const plan = this.make(this.declarations(target, handler));
    const ofClass = this.plans.get(target) ?? new WeakMap<object, RoutePlan>();
    ofClass.set(handler, plan);
    this.plans.set(target, ofClass);
    return plan;
  }

  /** Returns the rules of `@RateLimit()` that were found so far, for `luanest/console`. */
  [CONSOLE](): readonly NamedRule[] {
    return [...this.declared.values()];
  }

  /** Returns the values of `@RateLimit()` and `@SkipRateLimit()` of a route. @throws InvalidOptionError as `of` does */
  declarations(target: Type<unknown>, handler: Handler): Declarations {
    const paths = [...(this.modulePaths.get(target) ?? [''])];
    const where = `${target.name}.${handler.name}`;
    const rulesOf = (on: Handler | Type<unknown>): ResolvedRule[] | undefined => metadata(RULES_METADATA, on);
    // A controller of two modules with different paths has two addresses, and the context does not show which one a request has used. So no
    // name is made from the address.
    const classRoute = paths.length === 1 ? classRouteOf(target, paths[0] as string) : undefined;
    const route = paths.length === 1 ? routeOf(target, handler, paths[0] as string) : undefined;
    const ofClass = nameAll(rulesOf(target), classRoute, target.name);
    const ofMethod = nameAll(rulesOf(handler), route, where);
    refuseDuplicates(ofClass, target.name);
    refuseDuplicates(ofMethod, where);
    for (const { rule } of [...ofClass, ...ofMethod]) this.declared.set(memoryId(rule, '-'), rule);
    const [skippedByClass, skippedByMethod] = [
      metadata<string[]>(SKIP_METADATA, target),
      metadata<string[]>(SKIP_METADATA, handler),
    ];
    return { ofClass, ofMethod, skippedByClass, skippedByMethod };
  }

  private make({ ofClass, ofMethod, skippedByClass, skippedByMethod }: Declarations): RoutePlan {
    const declared = [...ofClass, ...ofMethod].map(({ rule }) => rule);
    const byName = new Map([...this.rules, ...declared].map((rule) => [rule.name, rule]));
    for (const skipped of [skippedByClass, skippedByMethod]) {
      if (skipped?.length === 0) byName.clear();
      for (const name of skipped ?? []) byName.delete(name);
    }
    const rules = [...byName.values()];
    return { rules, fixed: rules.every(isFixed), refunds: rules.some(({ count }) => count !== 'all') };
  }
}
