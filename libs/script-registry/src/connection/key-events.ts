/**
 * First part of luanest's name for the channel of a key's events (keyspace notifications). The key follows. Redis' own name of the
 * channel, `__keyspace@<db>__:<key>`, also contains the number of the database.
 */
const KEY_EVENTS = '__keyspace__:';

/**
 * Returns luanest's name for the channel of the events of a key. The channel is not sharded: only the node that has the key sends the
 * events.
 */
export function keyEventsOf(key: string): string {
  return KEY_EVENTS + key;
}

export function isKeyEvents(channel: string): boolean {
  return channel.startsWith(KEY_EVENTS);
}

/** Converts luanest's name for a channel of key events to Redis' name. */
export function nameInDatabase(channel: string, database: number): string {
  return `__keyspace@${database}__:${channel.slice(KEY_EVENTS.length)}`;
}

/** Converts Redis' name of a channel of key events to luanest's name. */
export function nameOfKeyEvents(channel: string): string {
  return KEY_EVENTS + channel.slice(channel.indexOf('__:') + 3);
}
