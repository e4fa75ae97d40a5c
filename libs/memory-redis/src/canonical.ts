import { scoreText } from './numbers';
import { SortedSet } from './sorted-set';
import type { ConsumerGroup } from './streams/consumer-group';
import type { Stream } from './streams/stream';
import { HashValue, ListValue, SetValue, type Value } from './values';

/**
 * Converts a value to text. Equal values give the same text, and different values give different texts. The order of the fields of a hash
 * and of the members of a set has no effect. The text of a stream includes its groups, consumers and pending entries, with their times.
 */
export function canonicalText(value: Value): string {
  if (typeof value === 'string') return `string ${sized(value)}`;
  if (value instanceof ListValue) return `list ${value.items.map(sized).join('')}`;
  if (value instanceof SetValue) return `set ${[...value.members].sort().map(sized).join('')}`;
  if (value instanceof HashValue) return `hash ${pairs(value.fields, sized)}`;
  if (value instanceof SortedSet) {
    return `zset ${value.all.map(({ member, score }) => `${sized(member)}${scoreText(score)} `).join('')}`;
  }
  return `stream ${streamText(value)}`;
}

function streamText({ entries, lastId, maxDeletedId, entriesAdded, groups }: Stream): string {
  const rows = entries.map(({ id, fields }) => `${id}:${fields.length} ${fields.map(sized).join('')}`);
  return `${lastId} ${maxDeletedId} ${entriesAdded} ${rows.length} ${rows.join('')}${pairs(groups, groupText)}`;
}

function groupText({ lastId, entriesRead, consumers, pendingEntries }: ConsumerGroup): string {
  const pending = pendingEntries.map(
    ({ id, consumer, deliveredAtMs, deliveries }) => `${id} ${sized(consumer.name)}${deliveredAtMs} ${deliveries};`,
  );
  return `${lastId} ${entriesRead} ${pairs(consumers, ({ seenAtMs }) => `${seenAtMs};`)}${pending.join('')};`;
}

function pairs<Item>(map: ReadonlyMap<string, Item>, textOf: (item: Item) => string): string {
  const names = [...map.keys()].sort();
  return names.map((name) => `${sized(name)}${textOf(map.get(name) as Item)}`).join('');
}

function sized(text: string): string {
  return `${text.length}:${text}`;
}
