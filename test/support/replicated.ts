import type { Cluster } from 'ioredis';
import { eventually } from './wait';

/** Waits until a replica of each master has what this client wrote. WAIT only covers the writes of its own connection. */
export async function replicated(client: Cluster): Promise<void> {
  await eventually(async () => {
    for (const node of client.nodes('master')) {
      const replicas = await node.wait(1, 1_000).catch((error: Error) => {
        // A node that was a master until the last failover has no replicas to wait for.
        if (/replica instance/.test(error.message)) return 1;
        throw error;
      });
      if (replicas < 1) throw new Error(`The master ${node.options.host}:${node.options.port} has no replica in step.`);
    }
  });
}
