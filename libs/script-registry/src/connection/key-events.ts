/**
 * luanest's name for a channel of keyspace notifications is this prefix and the key. The name in Redis, `__keyspace@<db>__:<key>`, also
 * contains the number of the database, which only the connection knows.
 */
const KEY_EVENTS = '__keyspace__:';

/** Returns luanest's name for the channel of the keyspace notifications of a key. Only the node that has the key sends them. */
export function keyEventsOf(key: string): string {
  return KEY_EVENTS + key;
}

export function isKeyEvents(channel: string): boolean {
  return channel.startsWith(KEY_EVENTS);
}

/** Converts luanest's name for a channel of keyspace notifications to the name in Redis. */
export function nameInDatabase(channel: string, database: number): string {
  return `__keyspace@${database}__:${channel.slice(KEY_EVENTS.length)}`;
}

/** Converts the name of a channel of keyspace notifications in Redis to luanest's name. */
export function nameOfKeyEvents(channel: string): string {
  return KEY_EVENTS + channel.slice(channel.indexOf('__:') + 3);
}
