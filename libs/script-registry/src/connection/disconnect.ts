import type { Cluster, Redis } from 'ioredis';

interface Parts {
  readonly connector?: { stream?: { readonly destroyed: boolean } | undefined };
}

/**
 * Disconnects a client of ioredis. If a socket has closed already, ioredis would still wait 2 s for it to close, and the timer would keep
 * the process alive. So this function first removes such sockets from the client.
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
