import type { Keyspace } from '../../../libs/memory-redis/src/keyspace';
import type { Stream } from '../../../libs/memory-redis/src/streams/stream';
import type { Value } from '../../../libs/memory-redis/src/values';

/** Returns a text that is equal for two keyspaces with the same keys, values and expiries. The order of fields does not matter. */
export function keyspaceText(db: Keyspace): string {
  let text = '';
  for (const key of db.keys().sort())
    text += `${key}\0${db.expiryOf(key) ?? ''}\0${valueText(db.get(key) as Value)}\x01`;
  return text;
}

function valueText(value: Value): string {
  if (typeof value === 'string') return value;
  switch (value.type) {
    case 'hash':
      return `h${[...value.fields]
        .map(([field, text]) => `${field}\x02${text}`)
        .sort()
        .join('\x03')}`;
    case 'list':
      return `l${value.items.join('\x03')}`;
    case 'set':
      return `s${[...value.members].sort().join('\x03')}`;
    case 'zset':
      return `z${value.all.map(({ member, score }) => `${member}\x02${score}`).join('\x03')}`;
    case 'stream':
      return streamText(value);
  }
}

function streamText(stream: Stream): string {
  const entries = stream.entries.map(({ id, fields }) => `${id}\x02${fields.join('\x02')}`).join('\x03');
  const groups = [...stream.groups].map(([name, group]) => {
    const pending = group.pendingEntries.map(
      (one) => `${one.id}/${one.consumer.name}/${one.deliveredAtMs}/${one.deliveries}`,
    );
    const consumers = [...group.consumers.values()].map((one) => `${one.name}@${one.seenAtMs}`).sort();
    return `${name}\x02${group.lastId}\x02${group.entriesRead}\x02${pending.join(',')}\x02${consumers.join(',')}`;
  });
  return `x${stream.lastId} ${stream.maxDeletedId} ${stream.entriesAdded}\x03${entries}\x03${groups.sort().join('\x03')}`;
}
