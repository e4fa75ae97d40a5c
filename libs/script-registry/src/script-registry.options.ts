/* eslint-disable-next-line @typescript-eslint/ban-ts-comment -- the comment is kept in the published types */
/** @ts-ignore -- ioredis is optional. In an app without it, these types are any. */
import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';
import { Checks, type KnownOptions, shown } from '../../internal/src';
import type { AnyClient } from './connection/connect';

/** A Redis Cluster to connect to: the nodes to ask first, and the options of an ioredis Cluster. */
export interface ClusterConnectionOptions extends ClusterOptions {
  /** Addresses of some nodes, such as `{ host, port }` or `redis://host:port`; at least one. */
  readonly nodes: ClusterNode[];
}

/**
 * Options of a ScriptRegistry. At most one of `url`, `connection` and `client` names the Redis to use. Default: the
 * client of the imported RedisModule or ClusterModule of `@liaoliaots/nestjs-redis`.
 */
export interface ScriptRegistryModuleOptions {
  /**
   * Address of a server, `redis://` or `rediss://`. ScriptRegistry makes the client, of ioredis if it is installed, otherwise of node-redis, and
   * closes it when the app closes.
   */
  readonly url?: string;
  /**
   * ioredis' options of a server, a Sentinel group (`sentinels`, `name`) or a Cluster (`nodes`). ScriptRegistry makes the
   * client, and quits it when the app closes.
   */
  readonly connection?: RedisOptions | ClusterConnectionOptions;
  /**
   * A client that you made: a `Redis` or `Cluster` of ioredis or iovalkey, or what `createClient`, `createCluster` or `createSentinel` of
   * node-redis returned. ScriptRegistry never configures or closes it, so close it yourself. It connects a client that was never open. Or
   * an adapter for another client, which ScriptRegistry closes when the app closes.
   */
  readonly client?: AnyClient;
  /** First part of every key that `keySpace()` builds; 1 to 1,024 characters of well-formed Unicode, without braces. Default `luanest`. */
  readonly prefix?: string;
  /**
   * Behaviour of boot while Redis is unavailable. `required`: boot fails unless every master has the scripts. `best-effort`:
   * the app boots, the health indicator is `down`, and scripts are loaded when Redis is available. Default `best-effort`.
   */
  readonly preload?: 'required' | 'best-effort';
  /**
   * Longest time from `run` to the reply, ms; integer >= 1. Default 5,000. A call may set its own `deadlineMs`. Time in which
   * this process is too busy to send calls or to read replies is not counted, but for about 10 ms of each such stall.
   */
  readonly deadlineMs?: number;
  /**
   * False sends every call alone, in a form that reads KEYS as the script's own Lua does. Managed Clusters that allow only literal
   * `KEYS[n]` need it. Scripts that loop over KEYS, such as several of rate-limit, do not run there. Default true.
   */
  readonly grouping?: boolean;
}

export interface ResolvedScriptRegistryOptions
  extends Required<Omit<ScriptRegistryModuleOptions, RedisOption>>, Pick<ScriptRegistryModuleOptions, RedisOption> {
  /** How long boot waits at most, ms. With `best-effort`, it also stops waiting for masters when a connection fails. */
  readonly preloadTimeoutMs: number;
}

const REDIS_OPTIONS = ['url', 'connection', 'client'] as const;
type RedisOption = (typeof REDIS_OPTIONS)[number];

const KNOWN: KnownOptions<ScriptRegistryModuleOptions> = {
  url: true,
  connection: true,
  client: true,
  prefix: true,
  preload: true,
  deadlineMs: true,
  grouping: true,
};

/** Values that are not options. Only tests change them. */
export const FIXED = { preloadTimeoutMs: 10_000 };

const checks = new Checks('ScriptRegistryModule');

/** Checks `url`. The error does not quote it, since an address may hold a password. */
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
  const { nodes } = checks.object('connection', connection as { nodes?: unknown }, "an object with ioredis' options");
  if (nodes !== undefined && (!Array.isArray(nodes) || nodes.length === 0)) {
    checks.refuse('connection.nodes', nodes, 'an array of at least one node');
  }
}

/**
 * Checks the options of a ScriptRegistry and fills in the defaults.
 *
 * @throws InvalidOptionError that names the option, the value and what is allowed
 */
export function resolveOptions(options: ScriptRegistryModuleOptions): ResolvedScriptRegistryOptions {
  checks.options('', options, KNOWN);
  const { url, connection, client } = options;
  const set = REDIS_OPTIONS.filter((name) => options[name] !== undefined);
  if (set.length > 1) {
    throw checks.error(`${set.join(' and ')} are set. Set only one of them: the one that names the Redis to use.`);
  }
  checkUrl(url);
  checkConnection(connection);
  return Object.freeze({
    url,
    connection,
    client,
    prefix: checks.text(
      'prefix',
      checks.id('prefix', options.prefix ?? 'luanest', 1_024),
      /^[^{}]+$/,
      'text without braces',
    ),
    preload: checks.choice('preload', options.preload ?? 'best-effort', ['required', 'best-effort']),
    ...FIXED,
    deadlineMs: checks.integer('deadlineMs', options.deadlineMs ?? 5_000, 1),
    grouping: checks.flag('grouping', options.grouping ?? true),
  });
}
