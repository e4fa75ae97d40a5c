import { Redis } from 'ioredis';
import type { Delivery } from '../src/once.types';
import { openRegistry } from '../../script-registry/test/support';
import { resolveOptions } from '../src/once.options';
import { onceScripts } from '../src/once.scripts';
import { OnceService } from '../src/once.service';
import { OnceStore } from '../src/once.store';

/** Job that the parent process sends to a worker, one after the other. */
export interface WorkerJob {
  readonly url: string;
  readonly prefix: string;
  readonly ids: readonly string[];
  readonly delivery: Delivery;
  readonly leaseMs: number;
  readonly parallel: number;
  /** Point at which the worker stops and waits until it is killed. */
  readonly stopAt?: 'before-claim' | 'after-claim' | 'after-push' | 'after-confirm';
}

async function main(job: WorkerJob): Promise<void> {
  const client = new Redis(job.url);
  const registry = await openRegistry(
    client,
    { preload: 'required', prefix: job.prefix, deadlineMs: 20_000 },
    onceScripts,
  );
  const once = new OnceService(new OnceStore(registry), resolveOptions({}));
  const stop = async (point: WorkerJob['stopAt']): Promise<void> => {
    if (job.stopAt !== point) return;
    process.send?.('there');
    await new Promise(() => setInterval(() => undefined, 1_000));
  };
  const terms = { leaseMs: job.leaseMs, retentionMs: 600_000, delivery: job.delivery };
  const counts = { ran: 0, duplicate: 0, 'in-progress': 0 };
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let id = job.ids[next++]; id !== undefined; id = job.ids[next++]) {
      await stop('before-claim');
      const { status } = await once.run(id, terms, async () => {
        await stop('after-claim');
        await client.hincrby(`${job.prefix}:pushed`, id, 1);
        await stop('after-push');
      });
      counts[status] += 1;
      await stop('after-confirm');
    }
  };
  await Promise.all(Array.from({ length: job.parallel }, lane));
  registry.close();
  client.disconnect();
  process.send?.(counts);
}

process.on('message', (job) => void main(job as WorkerJob));
process.once('disconnect', () => process.exit(1));
