import type { Cluster, Redis } from 'ioredis';
import { shown } from './shown';
import { InvalidOptionError } from './script-registry.errors';
import { checkOptions, isIntegerOf, MAX_TIMER_MS, type KnownOptions } from './shared/checks';

/** Where a registry takes its client from when none is handed in. */
export interface RedisSource {
  /** `redis` for RedisModule, `cluster` for ClusterModule of `@liaoliaots/nestjs-redis`. Default: the one that is imported. */
  readonly module?: 'redis' | 'cluster';
  /** Namespace of the client there. Default: its default namespace. */
  readonly namespace?: string | symbol;
}

/** Options of a registry. */
export interface ScriptRegistryOptions {
  /** A client of yours. The registry never configures or quits it. Default: taken from `source`. */
  readonly client?: Redis | Cluster;
  /** Which client of `@liaoliaots/nestjs-redis` to use. Default: the default one of the imported module. */
  readonly source?: RedisSource;
  /** First part of every key that this registry's key spaces build; text without braces. Default `luanest`. */
  readonly prefix?: string;
  /**
   * What boot does while Redis is away. `required`: initialisation fails unless every master has the scripts.
   * `best-effort`: the app boots, the health indicator is down, and scripts are loaded when Redis comes. Default `best-effort`.
   */
  readonly preload?: 'required' | 'best-effort';
  /**
   * How long boot waits for the masters, ms; integer >= 1. Default 10,000. With `best-effort` it ends as soon as a
   * connection fails.
   */
  readonly preloadTimeoutMs?: number;
  /** How long a call may take from `run` to its answer, ms; integer >= 1. Default 5,000. A call may set its own. */
  readonly deadlineMs?: number;
  /** False sends every call alone, in the script's plain form, as some managed Clusters need it. Default true. */
  readonly grouping?: boolean;
  /** Most groups of one script and slot in flight, integer >= 1. Default 32. */
  readonly maxGroupsInFlight?: number;
}

/** Options with every default filled in. */
export interface ResolvedScriptRegistryOptions
  extends
    Required<Omit<ScriptRegistryOptions, 'client' | 'source'>>,
    Pick<ScriptRegistryOptions, 'client' | 'source'> {}

const KNOWN: KnownOptions<ScriptRegistryOptions> = {
  client: true,
  source: true,
  prefix: true,
  preload: true,
  preloadTimeoutMs: true,
  deadlineMs: true,
  grouping: true,
  maxGroupsInFlight: true,
};
const KNOWN_OF_SOURCE: KnownOptions<RedisSource> = { module: true, namespace: true };

function oneOf(name: string, value: unknown, allowed: readonly unknown[]): void {
  if (!allowed.includes(value)) {
    throw new InvalidOptionError(`${name} must be ${allowed.map(String).join(' or ')}, but is ${shown(value)}.`);
  }
}

/**
 * Refuses a duration that is no integer of 1 to 2^31 - 1 ms.
 *
 * @throws InvalidOptionError naming the option and the value
 */
export function checkDuration(name: string, value: number): number {
  if (!isIntegerOf(value, 1, MAX_TIMER_MS)) {
    throw new InvalidOptionError(`${name} must be an integer of 1 to ${MAX_TIMER_MS} ms, but is ${shown(value)}.`);
  }
  return value;
}

/**
 * Refuses a number of replicas that is no integer >= 1.
 *
 * @throws InvalidOptionError naming the value
 */
export function checkReplicas(value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new InvalidOptionError(
      `replicas must be an integer >= 1, but is ${shown(value)}. Use run() to wait for none.`,
    );
  }
  return value;
}

/**
 * Checks a registry's options and fills in the defaults.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveOptions(options: ScriptRegistryOptions): ResolvedScriptRegistryOptions {
  checkOptions('', options, KNOWN);
  const { client, source } = options;
  if (client !== undefined && source !== undefined) {
    throw new InvalidOptionError('client and source are both set. Keep the one that names the Redis to use.');
  }
  if (source !== undefined) checkOptions('source', source, KNOWN_OF_SOURCE);
  if (source?.module !== undefined) oneOf('source.module', source.module, ['redis', 'cluster']);
  const resolved = {
    client,
    source,
    prefix: options.prefix ?? 'luanest',
    preload: options.preload ?? 'best-effort',
    preloadTimeoutMs: checkDuration('preloadTimeoutMs', options.preloadTimeoutMs ?? 10_000),
    deadlineMs: checkDuration('deadlineMs', options.deadlineMs ?? 5_000),
    grouping: options.grouping ?? true,
    maxGroupsInFlight: options.maxGroupsInFlight ?? 32,
  };
  if (typeof resolved.prefix !== 'string' || resolved.prefix === '' || /[{}]/.test(resolved.prefix)) {
    throw new InvalidOptionError(`prefix must be text without braces, but is ${shown(resolved.prefix)}.`);
  }
  oneOf('preload', resolved.preload, ['required', 'best-effort']);
  oneOf('grouping', resolved.grouping, [true, false]);
  if (!Number.isSafeInteger(resolved.maxGroupsInFlight) || resolved.maxGroupsInFlight < 1) {
    throw new InvalidOptionError(
      `maxGroupsInFlight must be an integer >= 1, but is ${shown(resolved.maxGroupsInFlight)}.`,
    );
  }
  return Object.freeze(resolved);
}
