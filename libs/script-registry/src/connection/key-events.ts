/**
 * First part of a channel of a key's events, as luanest names it; the key follows. Redis' own name of the channel also has the number of
 * the database.
 */
const KEY_EVENTS = '__keyspace__:';

/** Returns the channel of the events of a key. It is a plain channel, on the node that has the key. */
export function keyEventsOf(key: string): string {
  return KEY_EVENTS + key;
}

export function isKeyEvents(channel: string): boolean {
  return channel.startsWith(KEY_EVENTS);
}

/** Returns Redis' name of a channel of key events. */
export function nameInDatabase(channel: string, database: number): string {
  return `__keyspace@${database}__:${channel.slice(KEY_EVENTS.length)}`;
}

/** Returns luanest's name of a channel of key events. */
export function nameOfKeyEvents(channel: string): string {
  return KEY_EVENTS + channel.slice(channel.indexOf('__:') + 3);
}
