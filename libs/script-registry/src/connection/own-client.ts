import { Logger } from '@nestjs/common';
import { Cluster, Redis } from 'ioredis';
import type { ScriptRegistryModuleOptions } from '../script-registry.options';

/** How long QUIT may take before the connection is cut, ms. */
const QUIT_TIMEOUT_MS = 1_000;

/** A client that the registry made, and ends. */
export interface OwnClient {
  readonly client: Redis | Cluster;
  /** Ends the connection; what was written before is carried out where Redis answers. Never rejects. */
  readonly end: () => Promise<void>;
}

/**
 * Makes the client that the options describe. It connects when the registry starts, so an app whose boot fails before that
 * leaves no connection.
 *
 * @returns undefined where the options name no server
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

/** One line when Redis becomes unavailable and one when it is back; ioredis prints each failed attempt where nobody listens. */
function logOutages(client: Redis | Cluster, logger: Logger): void {
  let available = true;
  client.on('error', ({ message }: Error) => {
    if (available) logger.warn(`Redis is unavailable: ${message}. The client reconnects by itself.`);
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
  client.disconnect();
}
