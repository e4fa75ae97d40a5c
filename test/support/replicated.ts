import type { Cluster } from 'ioredis';
import { eventually } from './wait';

/** Until a replica of each master has what this client wrote. WAIT counts only the writes of the connection that asks. */
export async function replicated(client: Cluster): Promise<void> {
  await eventually(async () => {
    for (const node of client.nodes('master')) {
      const replicas = await node.wait(1, 1_000).catch((error: Error) => {
        // One that was a master until the last failover has nothing to wait for.
        if (/replica instance/.test(error.message)) return 1;
        throw error;
      });
      if (replicas < 1) throw new Error(`The master ${node.options.host}:${node.options.port} has no replica in step.`);
    }
  });
}
