import type { ChannelSubscriber, RedisConnection, RedisNode } from './connection/port';
import { asError } from './group/settle';
import { NotSentError } from './script-registry.errors';

interface Link {
  readonly opening: Promise<ChannelSubscriber>;
  readonly channels: Map<string, { readonly listeners: Set<() => void>; readonly subscribed: Promise<void> }>;
}

/** Listeners of sharded channels: one connection to each node, opened by the node's first listener. */
export class ChannelListeners {
  private readonly links = new Map<string, Link>();
  private closed = false;

  constructor(private readonly connection: RedisConnection) {}

  /**
   * Calls `listener` at each message of the channel, and once if messages may have been missed.
   *
   * @returns a function that stops it
   * @throws NotSentError if the node is not connected, or refuses the subscription
   */
  async listen(slot: number, channel: string, listener: () => void): Promise<() => void> {
    const node = this.connection.nodeFor(slot);
    if (this.closed || !node?.ready)
      throw new NotSentError(`Not subscribed to the channel: the node of slot ${slot} is not connected.`);
    const link = this.links.get(node.id) ?? this.open(node);
    let entry = link.channels.get(channel);
    if (!entry) {
      const subscribed = link.opening.then((subscriber) => subscriber.subscribe(channel));
      entry = { listeners: new Set(), subscribed };
      link.channels.set(channel, entry);
    }
    const { listeners, subscribed } = entry;
    listeners.add(listener);
    const stop = (): void => this.stop(link, channel, listeners, listener);
    try {
      await subscribed;
    } catch (cause) {
      if (link.channels.get(channel)?.listeners === listeners) link.channels.delete(channel);
      throw new NotSentError(`Not subscribed to the channel: ${asError(cause).message}`, { cause });
    }
    return stop;
  }

  close(): void {
    this.closed = true;
    for (const { opening } of this.links.values()) void opening.then((own) => own.close()).catch(() => undefined);
    this.links.clear();
  }

  private stop(link: Link, channel: string, listeners: Set<() => void>, listener: () => void): void {
    listeners.delete(listener);
    if (listeners.size > 0 || link.channels.get(channel)?.listeners !== listeners) return;
    link.channels.delete(channel);
    void link.opening.then((subscriber) => subscriber.unsubscribe(channel)).catch(() => undefined);
  }

  private open(node: RedisNode): Link {
    const channels: Link['channels'] = new Map();
    const notify = (channel: string): void => {
      for (const listener of [...(channels.get(channel)?.listeners ?? [])]) listener();
    };
    const ended = (): void => {
      if (this.links.get(node.id) === link) this.links.delete(node.id);
      for (const channel of [...channels.keys()]) notify(channel);
    };
    const link: Link = { channels, opening: this.connection.subscriber(node, notify, ended) };
    link.opening.then((own) => this.closed && own.close()).catch(ended);
    this.links.set(node.id, link);
    return link;
  }
}
