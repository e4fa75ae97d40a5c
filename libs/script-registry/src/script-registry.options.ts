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
   * Address of a server, `redis://` or `rediss://`. ScriptRegistry creates the client, with ioredis if it is installed, otherwise with
   * node-redis. It closes the client when the app closes.
   */
  readonly url?: string;
  /**
   * Options of ioredis for a server, for a Sentinel group (`sentinels`, `name`) or for a Cluster (`nodes`). ScriptRegistry creates the
   * client, and closes it when the app closes.
   */
  readonly connection?: RedisOptions | ClusterConnectionOptions;
  /**
   * A client that you created: a `Redis` or `Cluster` of ioredis or iovalkey, or the result of `createClient`, `createCluster` or
   * `createSentinel` of node-redis. ScriptRegistry connects this client if it was never open. It does not configure or close the client,
   * so close it yourself. The value can also be an adapter for another client (a `RedisConnection`). ScriptRegistry closes the adapter
   * when the app closes.
   */
  readonly client?: AnyClient;
  /** First part of every key that `keySpace()` builds; 1 to 1,024 characters of well-formed Unicode, without braces. Default `luanest`. */
  readonly prefix?: string;
  /**
   * Sets how the app boots if Redis is unavailable. `required`: the boot fails unless every master has the scripts. `best-effort`: the
   * app boots, and the health indicator is `down`. The scripts are loaded when Redis is available. Default `best-effort`.
   */
  readonly preload?: 'required' | 'best-effort';
  /**
   * Longest time from `run` to the reply, ms; integer >= 1. Default 5,000. A call may set its own `deadlineMs`. If this process is too
   * busy to send calls or to read replies (a stall), only about the first 10 ms of each stall count.
   */
  readonly deadlineMs?: number;
  /**
   * True: concurrent calls of a script may be sent together, as one command. False: every call is sent alone, with the Lua source of the
   * script as it is written. Set false for a managed Cluster that allows only literal indexes, such as `KEYS[1]`. Scripts that loop over
   * KEYS, such as several scripts of rate-limit, cannot run on such a Cluster. Default true.
   */
  readonly grouping?: boolean;
}

export interface ResolvedScriptRegistryOptions
  extends Required<Omit<ScriptRegistryModuleOptions, RedisOption>>, Pick<ScriptRegistryModuleOptions, RedisOption> {
  /**
   * Longest time that the boot waits until the scripts are loaded, ms. With `best-effort`, the boot also stops waiting for masters when a
   * connection fails.
   */
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

/** Settings that only tests change. */
export const FIXED = { preloadTimeoutMs: 10_000 };

const checks = new Checks('ScriptRegistryModule');

/** Checks `url`. An address may hold a password, so the error does not quote it. */
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
    throw checks.error(`${set.join(' and ')} are set. Set only one of them, the one for the Redis that the app uses.`);
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
