import type { Cluster, Redis } from 'ioredis';

/** Parts of a client that the types of ioredis leave out. */
interface Parts {
  readonly connector?: { stream?: { readonly destroyed: boolean } | undefined };
}

/**
 * Disconnects a client, and leaves no timer for a socket that has closed before, as when Redis has stopped. ioredis would give
 * such a socket time to close, too (2 s by default), and this timer would keep the process alive.
 */
export function disconnect(client: Redis | Cluster): void {
  for (const node of isCluster(client) ? client.nodes() : [client]) {
    const { connector } = node as unknown as Parts;
    if (connector?.stream?.destroyed === true) connector.stream = undefined;
  }
  client.disconnect();
}

export function isCluster(client: Redis | Cluster): client is Cluster {
  return 'isCluster' in client && client.isCluster;
}
