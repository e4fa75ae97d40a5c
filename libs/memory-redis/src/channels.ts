import { Push } from './reply';
import { globPattern } from './scan';
import type { ChannelKind, Session } from './session';

/** Pub/Sub subscriptions of all connections. */
export class Channels {
  private readonly listeners: Readonly<Record<ChannelKind, Map<string, Set<Session>>>> = {
    channels: new Map(),
    patterns: new Map(),
    shards: new Map(),
  };

  subscribe(session: Session, kind: ChannelKind, name: string): void {
    const listeners = this.listeners[kind].get(name) ?? new Set();
    this.listeners[kind].set(name, listeners.add(session));
    session[kind].add(name);
  }

  unsubscribe(session: Session, kind: ChannelKind, name: string): void {
    const listeners = this.listeners[kind].get(name);
    listeners?.delete(session);
    if (listeners?.size === 0) this.listeners[kind].delete(name);
    session[kind].delete(name);
  }

  forget(session: Session): void {
    for (const kind of ['channels', 'patterns', 'shards'] as const) {
      for (const name of session[kind]) this.unsubscribe(session, kind, name);
    }
  }

  /** Sends a message to the subscribers of a channel. @returns the number of subscriptions that received it */
  publish(channel: string, message: string): number {
    let count = this.send('channels', channel, ['message', channel, message]);
    for (const pattern of this.listeners.patterns.keys()) {
      if (globPattern(pattern).test(channel))
        count += this.send('patterns', pattern, ['pmessage', pattern, channel, message]);
    }
    return count;
  }

  publishToShard(channel: string, message: string): number {
    return this.send('shards', channel, ['smessage', channel, message]);
  }

  /** Ends all subscriptions to a sharded channel, as a node of a Cluster does when the slot of the channel moves away. */
  endShard(channel: string): void {
    for (const session of [...(this.listeners.shards.get(channel) ?? [])]) {
      this.unsubscribe(session, 'shards', channel);
      session.send(new Push(['sunsubscribe', channel, session.shards.size]));
    }
  }

  names(kind: ChannelKind): string[] {
    return [...this.listeners[kind].keys()];
  }

  countOf(kind: ChannelKind, name: string): number {
    return this.listeners[kind].get(name)?.size ?? 0;
  }

  private send(kind: ChannelKind, name: string, items: readonly string[]): number {
    const listeners = [...(this.listeners[kind].get(name) ?? [])];
    for (const session of listeners) session.send(new Push(items));
    return listeners.length;
  }
}
