import { createHash } from 'node:crypto';
import { RequestMethod, type ExecutionContext, type Type } from '@nestjs/common';
import { InvalidOptionError, shown } from 'luanest/script-registry';
import { named } from './resolve-rule';
import type { NamedRule, ResolvedRule } from './rule';

/** Metadata of `@RateLimit()`: ResolvedRule[]. */
export const RULES_METADATA = 'luanest:rate-limit:rules';
/** Metadata of `@SkipRateLimit()`: names, or an empty array for all. */
export const SKIP_METADATA = 'luanest:rate-limit:skip';

/** A method that handles requests, as Nest's contexts give it. */
export type Handler = ReturnType<ExecutionContext['getHandler']>;

/** The rules of one route. */
export interface RoutePlan {
  readonly rules: readonly NamedRule[];
  /** Whether nothing of them depends on the request but its address. */
  readonly fixed: boolean;
  /** Whether an outcome may give hits back. */
  readonly refunds: boolean;
}

type MetadataTarget = Handler | Type<unknown>;

function metadata<T>(key: string, target: MetadataTarget): T | undefined {
  return Reflect.getMetadata(key, target) as T | undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function joined(...paths: unknown[]): string {
  const parts = paths.flatMap((path) => (Array.isArray(path) ? path.map(text).join(',') : [text(path ?? '')]));
  return `/${parts
    .map((part) => part.replace(/^\/+|\/+$/g, ''))
    .filter((part) => part !== '')
    .join('/')}`;
}

/** What a controller, gateway or resolver is called by its clients; undefined where nothing but its class name says. */
function placeOf(target: Type<unknown>): string | undefined {
  const version = metadata<unknown>('__version__', target);
  const suffix = version === undefined ? '' : ` v${text(version)}`;
  if (metadata('__controller__', target) === true) return `${joined(metadata('path', target))}${suffix}`;
  const resolver = metadata<string>('graphql:resolver_name', target);
  if (resolver !== undefined) return `graphql ${resolver}`;
  if (metadata('websockets:is_gateway', target) !== true) return undefined;
  const { namespace, path } =
    metadata<{ namespace?: unknown; path?: unknown }>('websockets:gateway_options', target) ?? {};
  return `ws ${joined((metadata<number>('port', target) ?? 0) > 0 ? metadata('port', target) : '', namespace, path)}`;
}

/** What a route is called by its clients; undefined where nothing but the method's name says. */
function routeOf(target: Type<unknown>, handler: Handler): string | undefined {
  const pattern = metadata<unknown>('microservices:pattern', handler);
  if (pattern !== undefined) return `rpc ${text(pattern)}`;
  const message = metadata<unknown>('message', handler);
  if (message !== undefined) return `${placeOf(target) ?? 'ws'} ${text(message)}`;
  const type = metadata<string>('graphql:resolver_type', handler);
  // A property's name stays as it is when code is minified; a class's does not.
  if (type !== undefined)
    return `graphql ${type}.${metadata<string>('graphql:resolver_name', handler) ?? handler.name}`;
  const method = metadata<number>('method', handler);
  if (method === undefined) return undefined;
  const version = metadata<unknown>('__version__', handler) ?? metadata<unknown>('__version__', target);
  const suffix = version === undefined ? '' : ` v${text(version)}`;
  return `${RequestMethod[method]} ${joined(metadata('path', target), metadata('path', handler))}${suffix}`;
}

/** Long names by their hash, so that keys and headers stay short. */
function short(name: string): string {
  if (name.length <= 96) return name;
  return `${name.slice(0, 64)}~${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}

/** Gives rules without a name that of their place, numbered from the second on. */
function nameAll(rules: readonly ResolvedRule[], place: string | undefined, where: string): NamedRule[] {
  let unnamed = 0;
  return rules.map((rule) => {
    if (rule.name !== undefined) return named(rule, rule.name);
    if (place === undefined) {
      throw new InvalidOptionError(
        `@RateLimit() of ${where} has a rule without a name, and nothing else that is stable names its counters. Give it a name.`,
      );
    }
    unnamed += 1;
    return named(rule, short(unnamed === 1 ? place : `${place} #${unnamed}`));
  });
}

function refuseTwins(rules: readonly NamedRule[], where: string): void {
  const twin = rules.find(({ name }, i) => rules.findIndex((other) => other.name === name) !== i);
  if (twin) throw new InvalidOptionError(`${where} has two rules named ${shown(twin.name)}. Rename one of them.`);
}

function isFixed({ limit, cost, subject, skip }: NamedRule): boolean {
  return typeof limit === 'number' && typeof cost === 'number' && subject === undefined && skip === undefined;
}

/** Which rules a route has, worked out once a route. */
export class RoutePlans {
  private readonly plans = new WeakMap<object, WeakMap<object, RoutePlan>>();

  /** @param rules of every route */
  constructor(private readonly rules: readonly NamedRule[]) {}

  /**
   * The module's rules, then the class's, then the method's; of one name only the nearest.
   *
   * @throws InvalidOptionError for a rule that cannot be named, and for two of one name in one place
   */
  of(target: Type<unknown>, handler: Handler): RoutePlan {
    const known = this.plans.get(target)?.get(handler);
    if (known) return known;
    const plan = this.make(target, handler);
    const ofClass = this.plans.get(target) ?? new WeakMap<object, RoutePlan>();
    ofClass.set(handler, plan);
    this.plans.set(target, ofClass);
    return plan;
  }

  private make(target: Type<unknown>, handler: Handler): RoutePlan {
    const where = `${target.name}.${handler.name}`;
    const ofClass = nameAll(metadata<ResolvedRule[]>(RULES_METADATA, target) ?? [], placeOf(target), target.name);
    const ofMethod = nameAll(metadata<ResolvedRule[]>(RULES_METADATA, handler) ?? [], routeOf(target, handler), where);
    refuseTwins(ofClass, target.name);
    refuseTwins(ofMethod, where);
    const byName = new Map([...this.rules, ...ofClass, ...ofMethod].map((rule) => [rule.name, rule]));
    for (const skipped of [metadata<string[]>(SKIP_METADATA, target), metadata<string[]>(SKIP_METADATA, handler)]) {
      if (skipped?.length === 0) byName.clear();
      for (const name of skipped ?? []) byName.delete(name);
    }
    const rules = [...byName.values()];
    return { rules, fixed: rules.every(isFixed), refunds: rules.some(({ count }) => count !== 'all') };
  }
}
