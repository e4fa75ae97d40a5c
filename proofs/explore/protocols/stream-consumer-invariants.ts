import type { Partition } from '../../../libs/stream-consumer/src/streams/partitions';
import { Stream } from '../../../libs/memory-redis/src/streams/stream';
import { parseId } from '../../../libs/memory-redis/src/streams/stream-id';
import type { Invariant } from '../engine/protocol';
import type { World } from '../engine/world';
import type { Settings, StreamState } from './stream-consumer-state';

function streamOf(partition: Partition, world: World): Stream | undefined {
  const stream = world.db.get(partition.stream);
  return stream instanceof Stream ? stream : undefined;
}

/** True if an operator has taken an entry out of the group's list of pending entries, and the group has not settled it. */
function isTakenOut(partition: Partition, group: string, id: string, world: World): boolean {
  return world.read('SISMEMBER', partition.of(group).unsettled, id) === 1;
}

/** An outcome whose reply was lost, or whose call is late, may have settled its entry. */
export function observe(state: StreamState, settings: Settings, partition: Partition, world: World): void {
  const stream = streamOf(partition, world);
  if (stream === undefined) return;
  for (const group of settings.groups) {
    const found = stream.groups.get(group);
    if (found === undefined) continue;
    for (const id of Object.values(state.published)) {
      const at = parseId(id);
      const isSettled =
        at <= found.lastId && found.findPending(at) === undefined && !isTakenOut(partition, group, id, world);
      const handled = state.handled[group] ?? [];
      if (isSettled && !handled.includes(id) && state.sent[group]?.includes(id)) handled.push(id);
    }
  }
}

export function invariants(settings: Settings, partition: Partition): Invariant<StreamState>[] {
  const { groups, messages, ordered = false } = settings;
  const all: Invariant<StreamState>[] = [
    {
      words:
        'A message that was published is not lost: for each group it is handled, or dead-lettered, or the stream has it and the group will read it or has it pending. Not promised after an eviction, a failover or a foreign trim.',
      broken: ({ published, handled, disturbed }, world) => {
        if (disturbed) return undefined;
        const stream = streamOf(partition, world);
        for (const [name, id] of Object.entries(published)) {
          const at = parseId(id);
          for (const group of groups) {
            if (handled[group]?.includes(id)) continue;
            const found = stream?.groups.get(group);
            const isKept = stream?.find(at) !== undefined;
            if (isKept && (found === undefined || at > found.lastId || found.findPending(at) !== undefined)) continue;
            if (isKept && isTakenOut(partition, group, id, world)) continue;
            return `${name} is lost for ${group}.`;
          }
        }
        return undefined;
      },
    },
    {
      words: 'Two sessions of a group never work on the same entry, by their own clocks. The same condition.',
      broken: ({ consumers, disturbed }, world) => {
        const working = Object.values(consumers).flatMap(({ group, held, until }) =>
          until <= world.nowMs ? [] : held.filter(({ outcome }) => outcome === '').map(({ id }) => `${group} ${id}`),
        );
        const twice = working.find((one, index) => working.indexOf(one) < index);
        return disturbed || twice === undefined ? undefined : `Two sessions of ${twice} work on it.`;
      },
    },
    {
      words: 'A group that has handled a message does not get it again. Checked at each take.',
      broken: () => undefined,
    },
  ];
  if (!ordered) return all;
  return [
    ...all,
    {
      words:
        'With ordered, a group works on a message only if it has settled all earlier messages of its key. The same condition.',
      broken: ({ consumers, published, handled, disturbed }, world) => {
        if (disturbed) return undefined;
        for (const { group, held, until } of Object.values(consumers)) {
          for (const { id, key, outcome } of held) {
            if (until <= world.nowMs || outcome !== '' || key === '') continue;
            const earlier = Object.entries(published).find(
              ([name, other]) =>
                messages[name] === key && parseId(other) < parseId(id) && !handled[group]?.includes(other),
            );
            if (earlier !== undefined) return `${group} works on ${id} before ${earlier[0]}.`;
          }
        }
        return undefined;
      },
    },
  ];
}

export function unsettled(
  state: StreamState,
  settings: Settings,
  partition: Partition,
  world: World,
): string | undefined {
  if (state.toPublish.length > 0) return `${state.toPublish.length} messages are not published.`;
  const stream = streamOf(partition, world);
  for (const group of settings.groups) {
    const found = stream?.groups.get(group);
    if (found === undefined) return `The group ${group} does not exist.`;
    if (found.pendingEntries.length > 0) return `${found.pendingEntries.length} entries are pending in ${group}.`;
    const unread = stream?.entries.find(({ id }) => id > found.lastId);
    if (unread !== undefined) return `${group} has not read an entry.`;
  }
  if (state.disturbed || stream === undefined || stream.size === 0) return undefined;
  return `${stream.size} entries are settled, but not deleted.`;
}
