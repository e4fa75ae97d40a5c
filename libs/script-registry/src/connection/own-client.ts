import { Logger } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { Checks, messageOf } from '../../../internal/src';
import type { ScriptRegistryModuleOptions } from '../script-registry.options';
import type { AnyClient } from './connect';
import { disconnect } from './disconnect';
import { ioredisIfInstalled, nodeRedisIfInstalled } from './installed-clients';
import { destroy, type NodeRedisClient } from './node-redis-node';

/** Longest time to wait for the reply to QUIT, ms. */
const QUIT_TIMEOUT_MS = 1_000;

/** Longest pause before an attempt to reconnect, ms. A random time of up to 100 ms is added. */
const LONGEST_PAUSE_MS = 500;

/**
 * Returns the pause before an attempt to reconnect, ms. The default pauses of ioredis and node-redis grow to seconds, so an app would stay
 * disconnected for seconds after Redis is available again. Leases would end in this time.
 *
 * @param n number of the attempt, from 1
 */
function reconnectPause(n: number): number {
  return Math.min(50 * 2 ** (n - 1), LONGEST_PAUSE_MS) + Math.floor(Math.random() * 100);
}

const checks = new Checks('ScriptRegistryModule');

/** A client that ScriptRegistry has created, and must therefore close. */
export interface OwnClient {
  readonly client: AnyClient;
  /** Ends the client. If the client is ready, first waits up to one second for the replies to its commands. Never rejects. */
  readonly end: () => Promise<void>;
  /** Returns the message of the last error since the client was ready; undefined if there was no error. */
  readonly lastError: () => string | undefined;
}

/**
 * Creates the client for the options `url` and `connection`, with ioredis if it is installed, otherwise with node-redis. The client
 * connects when ScriptRegistry starts or makes its first call. So an app whose boot fails before that leaves no connection open.
 *
 * @returns undefined if neither option is set
 * @throws InvalidOptionError if no package that can create the client is installed
 */
export function ownClient(
  name: string,
  { url, connection }: Pick<ScriptRegistryModuleOptions, 'url' | 'connection'>,
): OwnClient | undefined {
  if (url === undefined && connection === undefined) return undefined;
  const logger = new Logger(`ScriptRegistry ${name}`);
  const ioredis = ioredisIfInstalled();
  if (ioredis) {
    const client = makeIoredis(ioredis, url, connection);
    return { client, end: () => endIoredis(client), lastError: logOutages(client, logger) };
  }
  const nodeRedis = nodeRedisIfInstalled();
  if (connection !== undefined) {
    const remedy = nodeRedis
      ? 'Make a client of redis yourself and set `client`, or install ioredis'
      : 'Install ioredis';
    throw checks.error(`The option connection needs ioredis, which is not installed. ${remedy}.`);
  }
  if (!nodeRedis || url === undefined)
    throw checks.error('No client library for Redis is installed. Install ioredis or redis.');
  const client = nodeRedis.createClient({
    url,
    socket: { reconnectStrategy: (retries) => reconnectPause(retries + 1) },
  });
  return { client, end: () => endNodeRedis(client), lastError: logOutages(client, logger) };
}

function makeIoredis(
  { Cluster, Redis }: NonNullable<ReturnType<typeof ioredisIfInstalled>>,
  url: string | undefined,
  connection: ScriptRegistryModuleOptions['connection'] = {},
): Redis | Cluster {
  const defaults = { retryStrategy: reconnectPause, lazyConnect: true };
  if (url !== undefined) return new Redis(url, defaults);
  if (!('nodes' in connection)) return new Redis({ ...defaults, ...connection, lazyConnect: true });
  const { nodes, ...options } = connection;
  return new Cluster(nodes, { ...options, lazyConnect: true });
}

/**
 * Logs one line when the connection fails, and one line when the client is ready again. Before the first connection, Preload logs errors
 * instead. Without any `error` listener, ioredis would print a line for each failed attempt, and node-redis would end the process.
 *
 * @returns the function `lastError` of OwnClient
 */
function logOutages(client: Redis | Cluster | NodeRedisClient, logger: Logger): () => string | undefined {
  let available = true;
  let wasReady = false;
  let last: string | undefined;
  const on = client.on.bind(client) as (event: string, listener: (error: Error) => void) => unknown;
  on('error', (error) => {
    last = messageOf(error);
    if (available && wasReady) {
      logger.warn(
        `The connection to Redis was lost: ${last}. The client connects again by itself, unless its retry strategy gives up. Until it is connected, calls fail at their deadlines.`,
      );
    }
    available = false;
  });
  on('ready', () => {
    if (!available) logger.log('The client is connected to Redis again.');
    available = true;
    wasReady = true;
    last = undefined;
  });
  return () => last;
}

async function endIoredis(client: Redis | Cluster): Promise<void> {
  if (client.status === 'ready') await atMost(QUIT_TIMEOUT_MS, client.quit());
  disconnect(client);
}

async function endNodeRedis(client: NodeRedisClient): Promise<void> {
  if (client.isReady) await atMost(QUIT_TIMEOUT_MS, client.close());
  destroy(client);
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
