import type { Type } from '@nestjs/common';
import { InvalidOptionError, shown } from '../../../internal/src';
import { named } from './resolve-rule';
import { metadata, placeOf, routeOf, short, type Handler } from './route-names';
import type { NamedRule, ResolvedRule } from './rule';

/** Metadata of `@RateLimit()`: ResolvedRule[]. */
export const RULES_METADATA = 'luanest:rate-limit:rules';
/** Metadata of `@SkipRateLimit()`: names, or an empty array for all. */
export const SKIP_METADATA = 'luanest:rate-limit:skip';

/** The rules of one route. */
export interface RoutePlan {
  readonly rules: readonly NamedRule[];
  /** Whether nothing of them depends on the request but its address. */
  readonly fixed: boolean;
  /** Whether an outcome may give hits back. */
  readonly refunds: boolean;
}

/** A rule of a decorator. */
export interface DeclaredRule {
  readonly rule: NamedRule;
  /** True where its name comes from the route. */
  readonly derived: boolean;
}

/** What the decorators of one class and one method say. */
export interface Declarations {
  readonly ofClass: readonly DeclaredRule[];
  readonly ofMethod: readonly DeclaredRule[];
  /** Undefined: no rule is skipped; none: all are. */
  readonly skippedByClass: readonly string[] | undefined;
  readonly skippedByMethod: readonly string[] | undefined;
}

/** Gives rules without a name that of their place, numbered from the second on. */
function nameAll(rules: readonly ResolvedRule[] = [], place: string | undefined, where: string): DeclaredRule[] {
  let unnamed = 0;
  return rules.map((rule) => {
    if (rule.name !== undefined) return { rule: named(rule, rule.name), derived: false };
    if (place === undefined) {
      throw new InvalidOptionError(
        `@RateLimit on ${where}: A rule has no name, and its class is not a controller, gateway or resolver to derive one from. Set its name.`,
      );
    }
    unnamed += 1;
    return { rule: named(rule, short(unnamed === 1 ? place : `${place} #${unnamed}`)), derived: true };
  });
}

function refuseTwins(declared: readonly DeclaredRule[], where: string): void {
  const names = declared.map(({ rule }) => rule.name);
  const twin = names.find((name, i) => names.indexOf(name) !== i);
  if (twin !== undefined)
    throw new InvalidOptionError(`${where} has two rules named ${shown(twin)}. Rename one of them.`);
}

function isFixed({ limit, cost, subject, skip }: NamedRule): boolean {
  return typeof limit === 'number' && typeof cost === 'number' && subject === undefined && skip === undefined;
}

/** Which rules a route has, worked out once a route. */
export class RoutePlans {
  private readonly plans = new WeakMap<object, WeakMap<object, RoutePlan>>();
  private readonly modulePaths = new WeakMap<object, Set<string>>();

  /** @param rules of every route */
  constructor(readonly rules: readonly NamedRule[]) {}

  /** Notes the path that RouterModule gives the module of a controller; before its rules are asked for. */
  addModulePath(target: Type<unknown>, path: string): void {
    const paths = this.modulePaths.get(target) ?? new Set();
    this.modulePaths.set(target, paths.add(path));
  }

  /**
   * The module's rules, then the class's, then the method's; of one name only the nearest.
   *
   * @throws InvalidOptionError for a rule that cannot be named, and for two of one name in one place
   */
  of(target: Type<unknown>, handler: Handler): RoutePlan {
    const known = this.plans.get(target)?.get(handler);
    if (known) return known;
    const plan = this.make(this.declarations(target, handler));
    const ofClass = this.plans.get(target) ?? new WeakMap<object, RoutePlan>();
    ofClass.set(handler, plan);
    this.plans.set(target, ofClass);
    return plan;
  }

  /** What the decorators of a route say. @throws InvalidOptionError as `of` does */
  declarations(target: Type<unknown>, handler: Handler): Declarations {
    const paths = [...(this.modulePaths.get(target) ?? [''])];
    const where = `${target.name}.${handler.name}`;
    const rulesOf = (on: Handler | Type<unknown>): ResolvedRule[] | undefined => metadata(RULES_METADATA, on);
    // A controller of two modules has routes of two addresses, and which one is asked, nothing says.
    const place = paths.length === 1 ? placeOf(target, paths[0] as string) : undefined;
    const route = paths.length === 1 ? routeOf(target, handler, paths[0] as string) : undefined;
    const ofClass = nameAll(rulesOf(target), place, target.name);
    const ofMethod = nameAll(rulesOf(handler), route, where);
    refuseTwins(ofClass, target.name);
    refuseTwins(ofMethod, where);
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
