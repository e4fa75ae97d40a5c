import { once } from 'node:events';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { DelayedTaskEvents, DelayedTaskService, type DelayedTaskModuleOptions } from 'luanest/delayed-task';
import type { ScriptRegistry, ScriptRegistryModuleOptions } from 'luanest/script-registry';
import { idleChecksOf } from '../../internal/src';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { clusterClient, openRegistry, standaloneClient } from '../../script-registry/test/support';
import { resolveOptions } from '../src/delayed-task.options';
import { delayedTaskScripts } from '../src/delayed-task.scripts';
import { Partitions, type Partition } from '../src/queue/task-codec';

export { quiet } from '../../script-registry/test/support';

/** The two kinds of server that each contract is checked on, with partitions on all nodes of the Cluster. */
export const servers: [string, () => Redis | Cluster, number][] = [
  ['standalone', standaloneClient, 1],
  ['Cluster', clusterClient, 6],
];

export interface Bench {
  readonly prefix: string;
  readonly registry: ScriptRegistry;
  readonly tasks: DelayedTaskService;
  readonly partitions: readonly Partition[];
  /** The client as one of a standalone server: its commands take one key each, so they do on a Cluster too. */
  readonly raw: Redis;
  partitionOf(id: string): Partition;
  /** Begins to run tasks, as the app's bootstrap does. */
  work(): void;
  /** Makes the idle checks of this process, which sweep all partitions. */
  sweep(): Promise<void>;
  /** As the app's shutdown does. */
  close(): Promise<void>;
}

const open = new Set<Bench>();
// A test that fails leaves its workers behind, which would keep Jest from ending. Workers of their own process have no Jest.
if (typeof afterAll === 'function') {
  Logger.overrideLogger(false);
  afterAll(async () => {
    await Promise.all([...open].map((bench) => bench.close()));
  });
}

/** The service on a client of the test's own, outside Nest. */
export async function openBench(
  client: Redis | Cluster,
  options: DelayedTaskModuleOptions = {},
  registryOptions: ScriptRegistryModuleOptions = {},
): Promise<Bench> {
  if (client.status !== 'ready') await once(client, 'ready');
  const prefix = registryOptions.prefix ?? uniquePrefix();
  const registry = await openRegistry(client, { preload: 'required', ...registryOptions, prefix }, delayedTaskScripts);
  const resolved = resolveOptions(options);
  const tasks = new DelayedTaskService(registry, resolved);
  try {
    await tasks.onModuleInit();
  } catch (error) {
    registry.close();
    client.disconnect();
    throw error;
  }
  const partitions = new Partitions(registry.keySpace('delayed-task'), resolved.namespace, resolved.partitions);
  let closing: Promise<void> | undefined;
  const bench: Bench = {
    prefix,
    registry,
    tasks,
    partitions: partitions.all,
    raw: client as Redis,
    partitionOf: (id) => partitions.of(id),
    work: () => tasks.onApplicationBootstrap(),
    sweep: () => idleChecksOf(registry).checkAll(),
    close: () =>
      (closing ??= (async () => {
        await tasks.beforeApplicationShutdown();
        registry.close();
        client.disconnect();
        open.delete(bench);
      })()),
  };
  open.add(bench);
  return bench;
}

/** Redis' time, ms. */
export async function redisNow(raw: Redis): Promise<number> {
  const [seconds, micros] = await raw.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** Contents of a queue's keys. An id that is in none or in several of them is reported in `problems`. */
export interface Inventory {
  readonly due: string[];
  readonly leased: string[];
  readonly dead: string[];
  readonly problems: string[];
}

/** Reads every key of every partition, and looks for orphans and for tasks in two keys. */
export async function inventory(bench: Bench): Promise<Inventory> {
  const all: Inventory = { due: [], leased: [], dead: [], problems: [] };
  for (const keys of bench.partitions) {
    const [due, leased, dead] = await Promise.all(
      [keys.due, keys.leased, keys.dead].map((key) => bench.raw.zrange(key, '0', '-1')),
    );
    const [tasks, runs] = await Promise.all([bench.raw.hkeys(keys.tasks), bench.raw.hkeys(keys.runs)]);
    const placed = [...(due ?? []), ...(leased ?? []), ...(dead ?? [])];
    const places = new Set(placed);
    if (places.size !== placed.length) all.problems.push(`a task in two places: ${placed.join()}`);
    for (const id of tasks) if (!places.has(id)) all.problems.push(`${id} has a record and no place`);
    for (const id of placed) if (!tasks.includes(id)) all.problems.push(`${id} has a place and no record`);
    for (const id of runs) if (!places.has(id)) all.problems.push(`${id} has a run and no place`);
    for (const id of [...(leased ?? []), ...(dead ?? [])]) {
      if (!runs.includes(id)) all.problems.push(`${id} was taken and has no run`);
    }
    for (const id of placed)
      if (bench.partitionOf(id) !== keys && bench.partitionOf(id).due !== keys.due)
        all.problems.push(`${id} stands in another partition than its own`);
    all.due.push(...(due ?? []));
    all.leased.push(...(leased ?? []));
    all.dead.push(...(dead ?? []));
  }
  return all;
}

/** Collects the events of a channel until it is stopped. */
export function listen<E extends keyof DelayedTaskEvents>(
  channel: E,
): { readonly events: DelayedTaskEvents[E][]; stop(): void } {
  const events: DelayedTaskEvents[E][] = [];
  const collect = (event: unknown): void => void events.push(event as DelayedTaskEvents[E]);
  subscribe(DelayedTaskEvents[channel], collect);
  return { events, stop: () => void unsubscribe(DelayedTaskEvents[channel], collect) };
}

/** A promise with its ends outside. */
export class Gate {
  entered = 0;
  private release: (() => void)[] = [];
  private isOpen = false;

  async pass(): Promise<void> {
    this.entered += 1;
    if (!this.isOpen) await new Promise<void>((resolve) => this.release.push(resolve));
  }

  open(): void {
    this.isOpen = true;
    for (const go of this.release.splice(0)) go();
  }
}

/** Arguments of the script `take` for a queue without limits. */
export const NO_LIMITS = { most: 0, windowMs: 0, groupMost: 0, groupStarts: 0, groupWindowMs: 0, ended: [] };

/** The keys and arguments of a call of the script `take`, without a limit of starts. */
export function takeCall(
  partition: Partition,
  worker: string,
  asked: { token: string; limit: number; leaseMs: number },
) {
  const { due, leased, tasks, runs, dead, waits, lines, heads, starts, pauses, places, rates } = partition;
  const taken = partition.taken(worker);
  const keys = { due, leased, tasks, runs, dead, waits, taken, lines, heads, starts, pauses, places, rates };
  return { keys, args: { ...asked, ...NO_LIMITS } };
}
