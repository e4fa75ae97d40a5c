import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';
import {
  checkObject,
  checkOptions,
  InvalidOptionError,
  isIntegerOf,
  type KnownOptions,
  MAX_TIMER_MS,
  shown,
} from '../../internal/src';

/** Where a registry takes its client from when none is handed in. */
export interface RedisSource {
  /** `redis` for RedisModule, `cluster` for ClusterModule of `@liaoliaots/nestjs-redis`. Default: the one that is imported. */
  readonly module?: 'redis' | 'cluster';
  /** Namespace of the client there. Default: its default namespace. */
  readonly namespace?: string | symbol;
}

/** A Redis Cluster to connect to: the nodes to ask first, and ioredis' options of a Cluster. */
export interface ClusterConnectionOptions extends ClusterOptions {
  /** Addresses of some nodes, such as `{ host, port }` or `redis://host:port`; at least one. */
  readonly nodes: ClusterNode[];
}

/** Options of a registry. At most one of `url`, `connection`, `client` and `source` names the Redis to use. */
export interface ScriptRegistryOptions {
  /** Address of a server, `redis://` or `rediss://`. The registry makes the client, and quits it when the app closes. */
  readonly url?: string;
  /**
   * ioredis' options of a server, a Sentinel group (`sentinels`, `name`) or a Cluster (`nodes`). The registry makes the
   * client, and quits it when the app closes.
   */
  readonly connection?: RedisOptions | ClusterConnectionOptions;
  /** A client of yours. The registry never configures or quits it: you do. */
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
  extends Required<Omit<ScriptRegistryOptions, RedisOption>>, Pick<ScriptRegistryOptions, RedisOption> {}

/** The options that name the Redis to use. */
const REDIS_OPTIONS = ['url', 'connection', 'client', 'source'] as const;
type RedisOption = (typeof REDIS_OPTIONS)[number];

const KNOWN: KnownOptions<ScriptRegistryOptions> = {
  url: true,
  connection: true,
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

/** The value is not quoted: an address holds a password. */
function checkUrl(url: unknown): void {
  if (url === undefined) return;
  const protocol = typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol === 'redis:' || protocol === 'rediss:') return;
  const seen = typeof url === 'string' ? 'another text' : shown(url);
  throw new InvalidOptionError(
    `url must be an address such as redis://:password@127.0.0.1:6379/0 or rediss://host:6380, but is ${seen}.`,
  );
}

function checkConnection(connection: unknown): void {
  if (connection === undefined) return;
  const { nodes } = checkObject('connection', connection as { nodes?: unknown }, "Give ioredis' options.");
  if (nodes !== undefined && (!Array.isArray(nodes) || nodes.length === 0)) {
    throw new InvalidOptionError(`connection.nodes must be an array of at least one node, but is ${shown(nodes)}.`);
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
  const { url, connection, client, source } = options;
  const set = REDIS_OPTIONS.filter((name) => options[name] !== undefined);
  if (set.length > 1) {
    throw new InvalidOptionError(`${set.join(' and ')} are set. Keep the one that names the Redis to use.`);
  }
  checkUrl(url);
  checkConnection(connection);
  if (source !== undefined) checkOptions('source', source, KNOWN_OF_SOURCE);
  if (source?.module !== undefined) oneOf('source.module', source.module, ['redis', 'cluster']);
  const resolved = {
    url,
    connection,
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
