import { createHash } from 'node:crypto';
import { RequestMethod, type ExecutionContext, type Type } from '@nestjs/common';

export type Handler = ReturnType<ExecutionContext['getHandler']>;

export function metadata<T>(key: string, target: Handler | Type<unknown>): T | undefined {
  return Reflect.getMetadata(key, target) as T | undefined;
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  return value instanceof RegExp ? String(value) : JSON.stringify(value);
}

function listed(value: unknown): string {
  return Array.isArray(value) ? value.map(text).join(',') : text(value);
}

function joined(...paths: unknown[]): string {
  const parts = paths.map((path) => listed(path ?? '').replace(/^\/+|\/+$/g, ''));
  return `/${parts.filter((part) => part !== '').join('/')}`;
}

/**
 * Returns the version of a route, such as ` v1` or ` v1,2`. Returns ` vneutral` for Nest's VERSION_NEUTRAL (a symbol), and '' if
 * the route has no version.
 */
function versionOf(version: unknown): string {
  if (version === undefined) return '';
  const versions = (Array.isArray(version) ? version : [version]) as unknown[];
  return ` v${versions.map((each) => (typeof each === 'symbol' ? 'neutral' : text(each))).join(',')}`;
}

/** Returns the address of a controller or route: host, and the paths of module, controller and route. */
function addressOf(target: Type<unknown>, modulePath: string, path?: unknown): string {
  const host = metadata<unknown>('host', target);
  return `${host === undefined ? '' : listed(host)}${joined(modulePath, metadata('path', target), path)}`;
}

/**
 * Returns a name for the rules of a controller, gateway or resolver. It is made from the address, because a minifier may rename classes.
 *
 * @param modulePath path that RouterModule gives the module of the class
 * @returns the name; undefined for other classes
 */
export function classRouteOf(target: Type<unknown>, modulePath: string): string | undefined {
  if (metadata('__controller__', target) === true) {
    return `${addressOf(target, modulePath)}${versionOf(metadata('__version__', target))}`;
  }
  const resolver = metadata<string>('graphql:resolver_name', target);
  if (resolver !== undefined) return `graphql ${resolver}`;
  if (metadata('websockets:is_gateway', target) !== true) return undefined;
  const { namespace, path } =
    metadata<{ namespace?: unknown; path?: unknown }>('websockets:gateway_options', target) ?? {};
  return `ws ${joined((metadata<number>('port', target) ?? 0) > 0 ? metadata('port', target) : '', namespace, path)}`;
}

/** Returns a name for the rules of a route, such as `GET /cats/:id v2`; undefined for a method that is not a route. */
export function routeOf(target: Type<unknown>, handler: Handler, modulePath: string): string | undefined {
  const pattern = metadata<unknown>('microservices:pattern', handler);
  if (pattern !== undefined) return `rpc ${text(pattern)}`;
  const message = metadata<unknown>('message', handler);
  if (message !== undefined) return `${classRouteOf(target, modulePath) ?? 'ws'} ${text(message)}`;
  const type = metadata<string>('graphql:resolver_type', handler);
  // Minifiers keep the names of methods by default, so a rule's name may contain one.
  if (type !== undefined)
    return `graphql ${type}.${metadata<string>('graphql:resolver_name', handler) ?? handler.name}`;
  const method = metadata<number>('method', handler);
  if (method === undefined) return undefined;
  const version = metadata<unknown>('__version__', handler) ?? metadata<unknown>('__version__', target);
  return `${RequestMethod[method]} ${addressOf(target, modulePath, metadata('path', handler))}${versionOf(version)}`;
}

/** Shortens a name of more than 96 characters by replacing its end with a hash, so that keys and headers stay short. */
export function short(name: string): string {
  if (name.length <= 96) return name;
  return `${name.slice(0, 64)}~${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}
