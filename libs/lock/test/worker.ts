import { setImmediate as turn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { LockService } from 'luanest/lock';
import { size } from '../../../test/support/size';
import { openRegistry } from '../../script-registry/test/support';
import { resolveOptions } from '../src/lock.options';
import { lockScripts } from '../src/lock.scripts';

/** Job that the parent process sends to a worker, one after the other. */
export type WorkerJob = { readonly url: string; readonly prefix: string } & (
  | {
      /**
       * After the next message, count to `target` under each lock, and note in `<prefix>:by:<worker>` how often this one did.
       * Reports `ready`, and the name of each lock that it has acquired.
       */
      readonly mode: 'count';
      readonly worker: string;
      readonly locks: readonly string[];
      readonly target: number;
      readonly leaseMs: number;
    }
  | {
      /** Hold a lock, report its fence, and after the next message the state of the lock. */
      readonly mode: 'hold';
      readonly lock: string;
      readonly leaseMs: number;
    }
);

/** State of the lock, as the holder reports it. */
export interface Woken {
  readonly thrown: string | undefined;
  readonly aborted: boolean;
  readonly released: string;
}

const PER_HOLD = size(15, 50);

async function main(job: WorkerJob): Promise<void> {
  const client = new Redis(job.url);
  const registry = await openRegistry(client, { preload: 'required', prefix: job.prefix }, lockScripts);
  const locks = new LockService(registry, { ...resolveOptions({}), pollMs: 200 });
  if (job.mode === 'hold') await hold(locks, job.lock, job.leaseMs);
  else {
    const go = new Promise((resolve) => process.once('message', resolve));
    process.send?.('ready');
    await go;
    await Promise.all(job.locks.map((name) => count(locks, client, name, job)));
  }
  registry.close();
  client.disconnect();
}

async function count(
  locks: LockService,
  client: Redis,
  name: string,
  job: WorkerJob & { mode: 'count' },
): Promise<void> {
  const [total, mine] = [`${job.prefix}:total:${name}`, `${job.prefix}:by:${job.worker}:${name}`];
  for (let done = false; !done;) {
    await locks.withLock(name, { leaseMs: job.leaseMs, waitMs: 60_000 }, async (lock) => {
      process.send?.(name);
      for (let i = 0; i < PER_HOLD && !done; i++) {
        const seen = Number(await client.get(total));
        done = seen >= job.target;
        if (done) return;
        lock.assertHeld();
        // Between the read and the write anybody could write; what this worker did is noted in the same command.
        const own = Number(await client.get(mine));
        lock.assertHeld();
        await client.mset(total, seen + 1, mine, own + 1);
      }
    });
  }
}

async function hold(locks: LockService, name: string, leaseMs: number): Promise<void> {
  const lock = await locks.acquire(name, { leaseMs });
  const { signal } = lock;
  const asked = new Promise((resolve) => process.once('message', resolve));
  process.send?.(lock.fence);
  await asked;
  let thrown: string | undefined;
  try {
    lock.assertHeld();
  } catch (error) {
    thrown = (error as { code?: string }).code;
  }
  await turn();
  const { aborted } = signal;
  process.send?.({ thrown, aborted, released: await lock.release() } satisfies Woken);
}

process.on('message', (job: WorkerJob | string) => {
  if (typeof job === 'object') void main(job).then(() => process.send?.('done'));
});
process.once('disconnect', () => process.exit(1));
