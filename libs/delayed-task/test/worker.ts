import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { DelayedTaskModuleOptions } from 'luanest/delayed-task';
import { ownStalls } from '../../../test/support/pulse';
import { openBench, quiet } from './support';

/** Job that the parent process sends to a worker. */
export interface WorkerJob {
  readonly port: number;
  readonly prefix: string;
  readonly options: DelayedTaskModuleOptions;
  /** Where it notes what it did: a line in this file is there before the handler begins, and before the task is acknowledged. */
  readonly file: string;
  readonly taskMs: number;
}

async function main({ port, prefix, options, file, taskMs }: WorkerJob): Promise<void> {
  const client = quiet(new Redis(port, { retryStrategy: () => 50, maxRetriesPerRequest: null }));
  const bench = await openBench(client, options, { prefix, preload: 'best-effort', deadlineMs: 2_000 });
  const log = openSync(file, 'a');
  const note = (what: 'begun' | 'done' | 'stalled', id: string, attempt: number): void =>
    void writeSync(log, `${what} ${id} ${attempt} ${Date.now()}\n`);
  // In place of the attempt: how long it stood still, ms.
  ownStalls((ms) => note('stalled', '-', ms));
  bench.tasks.handle('job', async (_payload, { id, attempt }) => {
    note('begun', id, attempt);
    await sleep(taskMs * Math.random());
    note('done', id, attempt);
  });
  bench.work();
  process.send?.('ready');
}

process.once('message', (job) => void main(job as WorkerJob));
process.once('disconnect', () => process.exit(1));
