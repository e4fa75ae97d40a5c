import type { ChannelSubscriber, RedisConnection, RedisNode } from './connection/port';
import { messageOf } from '../../internal/src';
import { NotSentError } from './script-registry.errors';

/** Connection to one node, and the channels that it is subscribed to. */
interface Link {
  readonly opening: Promise<ChannelSubscriber>;
  readonly channels: Map<string, { readonly listeners: Set<() => void>; readonly subscribed: Promise<void> }>;
}

/** Listeners of sharded channels. All listeners of a node share one connection, which is opened when it is needed. */
export class ChannelListeners {
  private readonly links = new Map<string, Link>();
  private closed = false;

  constructor(private readonly connection: RedisConnection) {}

  /**
   * Calls `listener` at each message of the channel, and once if messages may be missed from now on. After that it is not called
   * until `listen` is called again. It may also be called once if `listen` rejects.
   *
   * @returns a function that stops calling the listener
   * @throws NotSentError if the subscription fails, or ScriptRegistry is closed
   */
  async listen(slot: number, channel: string, listener: () => void): Promise<() => void> {
    if (this.closed) throw new NotSentError('Not subscribed to the channel: ScriptRegistry is closed.');
    const node = this.connection.nodeFor(slot);
    if (!node?.ready) {
      throw new NotSentError(
        `Not subscribed to the channel: the node of slot ${slot} is not connected, or not ready yet.`,
      );
    }
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
      const reason = messageOf(cause);
      if (reason.startsWith('MOVED ')) this.connection.refresh();
      throw new NotSentError(`Not subscribed to the channel: ${reason}`, { cause });
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
    const lost = (channel: string): void => {
      const { listeners = [] } = channels.get(channel) ?? {};
      channels.delete(channel);
      for (const listener of [...listeners]) listener();
    };
    const moved = (channel: string): void => {
      this.connection.refresh();
      lost(channel);
    };
    const ended = (): void => {
      if (this.links.get(node.id) === link) this.links.delete(node.id);
      for (const channel of [...channels.keys()]) lost(channel);
    };
    const link: Link = { channels, opening: this.connection.subscriber(node, { message: notify, lost: moved, ended }) };
    link.opening.then((own) => this.closed && own.close()).catch(ended);
    this.links.set(node.id, link);
    return link;
  }
}
