import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultProxy, RedisServer } from 'luanest/testing/servers';
import { below, type Random } from './random';
import type { WorkerProcess } from './worker-process';

/** Kinds of faults of processes and links. */
export const FAULTS = [
  'workers killed (SIGKILL)',
  'workers paused (SIGSTOP)',
  'Redis paused (SIGSTOP)',
  'links cut',
  'replies lost',
  'requests lost',
  'links delayed',
  'links silent',
  'links refused',
] as const;
export type FaultKind = (typeof FAULTS)[number];

/** Processes and links that faults are made to. */
export interface FaultTarget {
  readonly redis: RedisServer;
  /** The present workers. */
  readonly workers: readonly WorkerProcess[];
  /** Kills a worker, and starts another one in its place. */
  replace(at: number): Promise<void>;
}

export interface FaultPlan {
  readonly faults: readonly FaultKind[];
  /** Time over which the faults are spread, ms. */
  readonly overMs: number;
  readonly random: Random;
  readonly faulted: (kind: FaultKind) => void;
}

/** Makes the faults in a random order. Resolves when all of them are over. */
export async function playFaults(target: FaultTarget, { faults, overMs, random, faulted }: FaultPlan): Promise<void> {
  const order = faults.map((kind) => ({ kind, at: random() })).sort((a, b) => a.at - b.at);
  const pause = overMs / (faults.length + 1);
  const ending: Promise<void>[] = [];
  for (const { kind } of order) {
    await sleep(pause);
    faulted(kind);
    // Faults overlap.
    ending.push(make(kind, target, random));
  }
  await Promise.all(ending);
  target.redis.resume();
  for (const worker of target.workers) {
    worker.resume();
    worker.proxy.pass();
  }
}

async function make(kind: FaultKind, target: FaultTarget, random: Random): Promise<void> {
  const at = below(random, target.workers.length);
  const worker = target.workers[at] as WorkerProcess;
  const { proxy } = worker;
  switch (kind) {
    case 'workers killed (SIGKILL)':
      return target.replace(at);
    case 'workers paused (SIGSTOP)':
      worker.pause();
      await sleep(100 + below(random, 500));
      return worker.resume();
    case 'Redis paused (SIGSTOP)':
      target.redis.pause();
      // Often longer than the deadline of calls.
      await sleep(50 + below(random, 500));
      return target.redis.resume();
    case 'links cut':
      return proxy.cut();
    case 'replies lost':
      return lose(proxy, 'reply');
    case 'requests lost':
      return lose(proxy, 'request');
    case 'links delayed':
      proxy.delay(2 + below(random, 30));
      return over(proxy, random);
    case 'links silent':
      proxy.blackhole();
      return over(proxy, random);
    case 'links refused':
      proxy.refuse();
      return over(proxy, random);
  }
}

async function over(proxy: FaultProxy, random: Random): Promise<void> {
  await sleep(50 + below(random, 300));
  proxy.pass();
}

/** Loses the reply to the next call of a script, or the call. */
async function lose(proxy: FaultProxy, what: 'reply' | 'request'): Promise<void> {
  const when = (request: string): boolean => /evalsha/i.test(request);
  await Promise.race([what === 'reply' ? proxy.dropReply({ when }) : proxy.dropRequest({ when }), sleep(500)]);
}
