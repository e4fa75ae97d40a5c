import type { Cluster, Redis } from 'ioredis';

/** Private fields of an ioredis client. The types of ioredis do not have them. */
interface Parts {
  readonly connector?: { stream?: { readonly destroyed: boolean } | undefined };
}

/**
 * Disconnects a client. If a socket has closed already, such as when Redis has stopped, ioredis would start a timer nevertheless to wait
 * for the socket to close (2 s by default). This timer would keep the process alive. So this function first removes such sockets from the
 * client.
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
