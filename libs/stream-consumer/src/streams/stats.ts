import type { ScriptRegistry } from 'luanest/script-registry';
import type { StreamStats } from '../stream-consumer.types';
import type { Stream } from './stream-catalog';
import { readStats } from './streams.scripts';

/** Returns the numbers of a group, summed over all partitions. @throws the errors of ScriptRegistry.run() */
export async function statsOf(registry: ScriptRegistry, source: Stream, group: string): Promise<StreamStats> {
  const partitions = await source.all();
  const parts = await Promise.all(
    partitions.map((partition) => {
      const { stream, sessions, due, dead } = partition.of(group);
      return registry.run(readStats, { keys: { stream, sessions, due, dead }, args: { group } });
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
  };
}
