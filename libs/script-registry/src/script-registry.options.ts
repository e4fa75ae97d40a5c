import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';
import { Checks, type KnownOptions, shown } from '../../internal/src';

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
export interface ScriptRegistryModuleOptions {
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
  extends Required<Omit<ScriptRegistryModuleOptions, RedisOption>>, Pick<ScriptRegistryModuleOptions, RedisOption> {}

/** The options that name the Redis to use. */
const REDIS_OPTIONS = ['url', 'connection', 'client', 'source'] as const;
type RedisOption = (typeof REDIS_OPTIONS)[number];

const KNOWN: KnownOptions<ScriptRegistryModuleOptions> = {
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

const checks = new Checks('ScriptRegistryModule');

/** The value is not quoted: an address holds a password. */
function checkUrl(url: unknown): void {
  if (url === undefined) return;
  const protocol = typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol === 'redis:' || protocol === 'rediss:') return;
  const seen = typeof url === 'string' ? 'not an address of Redis' : shown(url);
  throw checks.error(
    `url is ${seen}. Expected an address such as redis://:password@127.0.0.1:6379/0 or rediss://host:6380.`,
  );
}

function checkConnection(connection: unknown): void {
  if (connection === undefined) return;
  const { nodes } = checks.object('connection', connection as { nodes?: unknown }, "ioredis' options");
  if (nodes !== undefined && (!Array.isArray(nodes) || nodes.length === 0)) {
    checks.refuse('connection.nodes', nodes, 'an array of at least one node');
  }
}

/**
 * Checks a registry's options and fills in the defaults.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveOptions(options: ScriptRegistryModuleOptions): ResolvedScriptRegistryOptions {
  checks.options('', options, KNOWN);
  const { url, connection, client, source } = options;
  const set = REDIS_OPTIONS.filter((name) => options[name] !== undefined);
  if (set.length > 1) {
    throw checks.error(`${set.join(' and ')} are set. Keep the one that names the Redis to use.`);
  }
  checkUrl(url);
  checkConnection(connection);
  if (source !== undefined) checks.options('source', source, KNOWN_OF_SOURCE);
  if (source?.module !== undefined) checks.choice('source.module', source.module, ['redis', 'cluster']);
  return Object.freeze({
    url,
    connection,
    client,
    source,
    prefix: checks.text('prefix', options.prefix ?? 'luanest', /^[^{}]+$/, 'text without braces'),
    preload: checks.choice('preload', options.preload ?? 'best-effort', ['required', 'best-effort']),
    preloadTimeoutMs: checks.integer('preloadTimeoutMs', options.preloadTimeoutMs ?? 10_000, 1),
    deadlineMs: checks.integer('deadlineMs', options.deadlineMs ?? 5_000, 1),
    grouping: checks.flag('grouping', options.grouping ?? true),
    maxGroupsInFlight: checks.integer('maxGroupsInFlight', options.maxGroupsInFlight ?? 32, 1, Number.MAX_SAFE_INTEGER),
  });
}
