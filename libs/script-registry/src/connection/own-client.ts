import { Logger } from '@nestjs/common';
import { Cluster, Redis } from 'ioredis';
import { messageOf } from '../../../internal/src';
import type { ScriptRegistryModuleOptions } from '../script-registry.options';
import { disconnect } from './disconnect';

/** Longest wait for the reply to QUIT, ms. */
const QUIT_TIMEOUT_MS = 1_000;

/** A client that ScriptRegistry made and must end. */
export interface OwnClient {
  readonly client: Redis | Cluster;
  /** If the client is ready, sends QUIT and waits at most a second for its reply. Then disconnects. Never rejects. */
  readonly end: () => Promise<void>;
}

/**
 * Makes the client that the options describe. It is lazy and connects when ScriptRegistry starts, or at an earlier call. So an app
 * whose boot fails before has no open connection.
 *
 * @returns undefined if the options name no server
 */
export function ownClient(
  name: string,
  { url, connection }: Pick<ScriptRegistryModuleOptions, 'url' | 'connection'>,
): OwnClient | undefined {
  if (url === undefined && connection === undefined) return undefined;
  const client = make(url, connection);
  logOutages(client, new Logger(`ScriptRegistry ${name}`));
  return { client, end: () => end(client) };
}

function make(url: string | undefined, connection: ScriptRegistryModuleOptions['connection'] = {}): Redis | Cluster {
  if (url !== undefined) return new Redis(url, { lazyConnect: true });
  if (!('nodes' in connection)) return new Redis({ ...connection, lazyConnect: true });
  const { nodes, ...options } = connection;
  return new Cluster(nodes, { ...options, lazyConnect: true });
}

/**
 * Logs one line at the first error of an outage, and one when the client is ready again. Without an `error` listener, ioredis would
 * print a line for each failed attempt.
 */
function logOutages(client: Redis | Cluster, logger: Logger): void {
  let available = true;
  client.on('error', (error: Error) => {
    if (available) {
      logger.warn(
        `Redis is unavailable: ${messageOf(error)}. The client reconnects, unless its retry strategy gives up.`,
      );
    }
    available = false;
  });
  client.on('ready', () => {
    if (!available) logger.log('Redis is available again.');
    available = true;
  });
}

async function end(client: Redis | Cluster): Promise<void> {
  if (client.status === 'ready') {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, QUIT_TIMEOUT_MS)));
    await Promise.race([client.quit().catch(() => undefined), late]);
    clearTimeout(timer);
  }
  disconnect(client);
}
