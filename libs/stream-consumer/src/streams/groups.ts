import type { ScriptRegistry } from 'luanest/script-registry';
import { Steps } from '../../../internal/src';
import type { StreamStats } from '../stream-consumer.types';
import type { Partition } from './partitions';
import { purgeStream, readStats, removeGroup } from './streams.scripts';
import type { Stream } from './stream-catalog';

const PURGED_A_CALL = 100;
const NOTHING_KEPT = { count: 0, bytes: -1, ageMs: -1 };

/** Where the next call of `purge` continues in a partition. */
export interface PurgePosition {
  /** Id of the message that was checked last; `-` at the beginning and at the end of the partition. */
  readonly after: string;
  /** Number of messages before this position that some group still needs. */
  readonly passed: number;
}

export const PURGE_START: PurgePosition = { after: '-', passed: 0 };

/**
 * Removes a group of a stream, and deletes the messages that no other group needs. First removes the group's name from the config of the
 * stream, so that messages in new partitions need not wait for this group. Then removes the group from all partitions, including new ones.
 * If the process dies meanwhile, repeat the call.
 *
 * @returns true if the stream had the group
 * @throws the errors of ScriptRegistry.run()
 */
export async function forgetGroup(registry: ScriptRegistry, source: Stream, group: string): Promise<boolean> {
  const steps = new Steps('StreamConsumerService.removeGroup');
  let found = await steps.one(source.withdraw(group));
  const all = () => steps.read(source.all());
  for (let done = 0, partitions = await all(); done < partitions.length; partitions = await all()) {
    for (const partition of partitions.slice(done)) {
      const { stream, sessions, takes, due, tries, heads, dead, unsettled } = partition.of(group);
      const keys = { stream, sessions, takes, due, tries, heads, dead, unsettled };
      if (await steps.one(registry.run(removeGroup, { keys, args: { group } }))) found = true;
      for (let position = PURGE_START, more = true; more;) {
        ({ next: position } = await steps.one(purge(registry, source, partition, position)));
        more = position.after !== '-';
      }
    }
    done = partitions.length;
  }
  return found;
}

/**
 * Checks up to 100 messages of a partition, and deletes those that no group needs and that `retain` does not keep. Without `retain`, such
 * messages exist, for example, after the last group that needed them was removed.
 *
 * @param position PURGE_START, or the `next` of the last call
 * @throws the errors of ScriptRegistry.run()
 */
export function purge(
  registry: ScriptRegistry,
  source: Stream,
  partition: Partition,
  position: PurgePosition,
): Promise<{ readonly deleted: number; readonly next: PurgePosition }> {
  const { needs, needed } = source.groupsOf(partition);
  const args = { ...position, size: PURGED_A_CALL, needs, ...(source.options.retain ?? NOTHING_KEPT) };
  return registry.run(purgeStream, { keys: { stream: partition.stream, needed }, args });
}

/** Returns the statistics of a group, for all partitions together and for each one. @throws the errors of ScriptRegistry.run() */
export async function statsOf(registry: ScriptRegistry, source: Stream, group: string): Promise<StreamStats> {
  const partitions = await source.all();
  const paused = source.isForeign ? await source.pause(group, 'read') : source.isPaused(group);
  const parts = await Promise.all(
    partitions.map((partition) => {
      const { stream, sessions, due, dead, unsettled } = partition.of(group);
      return registry.run(readStats, { keys: { stream, sessions, due, dead, unsettled }, args: { group } });
    }),
  );
  const sum = (field: 'length' | 'pending' | 'lag' | 'due' | 'parked' | 'dead' | 'sessions'): number =>
    parts.reduce((total, part) => total + part[field], 0);
  const oldestMs = Math.max(...parts.map((part) => part.oldestMs));
  return {
    length: sum('length'),
    pending: sum('pending'),
    lag: sum('lag'),
    oldestMs: oldestMs < 0 ? undefined : oldestMs,
    due: sum('due'),
    parked: sum('parked'),
    dead: sum('dead'),
    sessions: sum('sessions'),
    paused,
    partitions: parts.map((part) => ({ ...part, oldestMs: part.oldestMs < 0 ? undefined : part.oldestMs })),
  };
}
