import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { StreamConsumerEvents, StreamConsumerService } from 'luanest/stream-consumer';
import { watch } from '../../../test/support/idle-checks';
import { ownStalls } from '../../../test/support/pulse';
import { openRegistry, quiet } from '../../script-registry/test/support';
import { resolveOptions } from '../src/stream-consumer.options';
import { StreamCatalog } from '../src/streams/stream-catalog';
import { streamConsumerScripts } from '../src/stream-consumer.scripts';

/** Message from the parent to a worker. */
export interface WorkerJob {
  readonly url: string;
  readonly prefix: string;
  readonly stream: string;
  readonly partitions: number;
  readonly leaseMs: number;
  readonly concurrency: number;
  /** How long each handler works, ms; until the parent sends something more where it is 'held'. */
  readonly workMs: number | 'held';
  /** Default `g`. */
  readonly group?: string;
  /** Default: the module's. */
  readonly watchEveryMs?: number;
}

/**
 * Message from a worker, in the order in which it happened: that it consumes; messages whose handlers began, ended, or were lost; and
 * that it stood still, for as many ms as its payload says.
 */
export interface WorkerNote {
  readonly what: 'running' | 'begun' | 'done' | 'lost' | 'stalled';
  readonly payload: number;
  /** As the message said; 0 without one. */
  readonly attempt: number;
}

Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));

let letGo: (() => void) | undefined;
const released = new Promise<void>((resolve) => (letGo = resolve));

let notes: WorkerNote[] = [];
let written: Promise<void> | undefined;

/** Resolves when the note is in the pipe, out of which it can be read although this process is killed. */
function note(what: WorkerNote['what'], payload: number, attempt: number): Promise<void> {
  notes.push({ what, payload, attempt });
  written ??= new Promise<void>((resolve) => {
    setImmediate(() => {
      const batch = notes;
      [notes, written] = [[], undefined];
      process.send?.(batch, () => resolve());
    });
  });
  return written;
}

async function main(job: WorkerJob): Promise<void> {
  const client = quiet(new Redis(job.url, { retryStrategy: () => 50 }));
  const { prefix, stream, leaseMs, concurrency, group = 'g', watchEveryMs } = job;
  const registry = await openRegistry(client, { prefix, preload: 'best-effort' }, streamConsumerScripts);
  const options = resolveOptions({ leaseMs, attempts: 1_000 });
  const streams = new StreamConsumerService(registry, options, new StreamCatalog(registry, job.partitions));
  if (watchEveryMs !== undefined) watch(registry, watchEveryMs);
  subscribe(StreamConsumerEvents.messagesLost, (event) => {
    for (let i = 0; i < (event as StreamConsumerEvents['messagesLost']).ids.length; i++) void note('lost', -1, 0);
  });
  ownStalls((ms) => void note('stalled', ms, 0));
  for (let running = false; !running;) {
    try {
      await streams.handle<number>({ stream, group, concurrency }, async ({ payload, attempt }) => {
        await note('begun', payload, attempt);
        await (job.workMs === 'held' ? released : sleep(job.workMs));
        await note('done', payload, attempt);
      });
      running = true;
      await note('running', -1, 0);
    } catch {
      // Redis may be unavailable.
      await sleep(50);
    }
  }
}

process.once('message', (job) => {
  process.once('message', () => letGo?.());
  void main(job as WorkerJob);
});
process.once('disconnect', () => process.exit(1));
