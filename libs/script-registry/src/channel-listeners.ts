import { isKeyEvents } from './connection/key-events';
import type { ChannelSubscriber, CommandFailure, RedisConnection, RedisNode } from './connection/port';
import { messageOf } from '../../internal/src';
import { NotSentError } from './script-registry.errors';

/** Pause between two checks of the connections, ms. */
const CHECK_MS = 5_000;
/**
 * Number of consecutive checks without a reply after which a connection is closed. A single check may get no reply because this process
 * itself was paused.
 */
const MOST_SILENT_CHECKS = 2;
/** If the clock of a node steps forward by more than this, ms, the listeners are called. */
const CLOCK_STEP_MS = 250;

/** Called with the text of each message; without a text if messages may have been missed. */
export type ChannelListener = (message?: string) => void;

interface Channel {
  readonly slot: number;
  readonly listeners: Set<ChannelListener>;
  readonly subscribed: Promise<void>;
}

/** Connection to one node, and the channels that it is subscribed to. */
interface Link {
  readonly node: RedisNode;
  readonly opening: Promise<ChannelSubscriber>;
  readonly channels: Map<string, Channel>;
  /**
   * Channels that have no listener, but are not unsubscribed from: at most one sharded channel (key false), and one channel of key events
   * (key true).
   */
  readonly kept: Map<boolean, string>;
  /** True if this connection has ever subscribed to a channel of key events. */
  hasKeyEvents: boolean;
  /** Number of consecutive checks whose PING got no reply. */
  silentChecks: number;
  /** Clock of the node minus `performance.now()`, ms. Null if the Redis user may not send TIME. Undefined before the first reading. */
  clockMs: number | null | undefined;
  /** Closes the connection, and calls each listener once without a text, because listeners may miss messages from now on. */
  readonly drop: () => void;
}

/**
 * Listeners of sharded Pub/Sub channels, and of channels of key events (keyspace notifications). All listeners of a node share one
 * connection. The first `listen` opens it.
 * See DECISIONS.md: listeners-need-not-ask
 */
export class ChannelListeners {
  private readonly links = new Map<string, Link>();
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(private readonly connection: RedisConnection) {}

  /**
   * Calls `listener` with each message of the channel. When the subscription has ended, calls `listener` once without a text. Then the
   * caller must call `listen` again to get more messages. The listener may also be called once without a text if `listen` rejects. A call
   * without a text also comes if the clock of the node was set forward; the subscription then stays.
   *
   * @returns a function that stops calling the listener
   * @throws NotSentError if the subscription fails, or ScriptRegistry is closed
   */
  async listen(slot: number, channel: string, listener: ChannelListener): Promise<() => void> {
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
      entry = { slot, listeners: new Set(), subscribed };
      link.hasKeyEvents ||= isKeyEvents(channel);
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

  /**
   * Closes the connection for the listeners of a node, and calls them without a text, so that they call `listen` again. Called after the
   * client has reconnected, because the node may now be another server.
   */
  reconnected(node: RedisNode): void {
    this.links.get(node.id)?.drop();
  }

  /**
   * Closes each connection with a channel whose slot is now on another node, and calls its listeners without a text, so that they call
   * `listen` again.
   */
  moved(): void {
    for (const { node, channels, drop } of [...this.links.values()]) {
      const hasMoved = ({ slot }: Channel): boolean => (this.connection.nodeFor(slot)?.id ?? node.id) !== node.id;
      if ([...channels.values()].some(hasMoved)) drop();
    }
  }

  close(): void {
    this.closed = true;
    clearInterval(this.timer);
    for (const { opening } of this.links.values()) void opening.then((own) => own.close()).catch(() => undefined);
    this.links.clear();
  }

  private stop(link: Link, channel: string, listeners: Set<ChannelListener>, listener: ChannelListener): void {
    listeners.delete(listener);
    if (listeners.size > 0 || link.channels.get(channel)?.listeners !== listeners) return;
    link.channels.delete(channel);
    const unused = link.hasKeyEvents ? this.exchange(link, channel) : channel;
    if (unused === undefined) return;
    void link.opening.then((subscriber) => subscriber.unsubscribe(unused)).catch(() => undefined);
  }

  /**
   * Returns the channel to unsubscribe from after `channel` has lost its last listener. There are two kinds of channels: sharded ones,
   * and those of key events. If other channels of the kind are in use, this is `channel` itself. Otherwise the subscription to `channel`
   * stays, and the channel whose subscription stayed before is returned. So one channel of each kind always stays: Redis counts the
   * channels of each kind, and ioredis takes the count 0 as the end of all subscriptions.
   * See DECISIONS.md: last-channel-of-a-kind-stays
   */
  private exchange({ channels, kept }: Link, channel: string): string | undefined {
    const kind = isKeyEvents(channel);
    if ([...channels.keys()].some((other) => isKeyEvents(other) === kind)) return channel;
    const before = kept.get(kind);
    kept.set(kind, channel);
    return before === channel ? undefined : before;
  }

  private open(node: RedisNode): Link {
    const channels: Link['channels'] = new Map();
    const notify = (channel: string, text: string): void => {
      for (const listener of [...(channels.get(channel)?.listeners ?? [])]) listener(text);
    };
    const lost = (channel: string): void => {
      const { listeners = [] } = channels.get(channel) ?? {};
      channels.delete(channel);
      for (const listener of [...listeners]) listener();
    };
    const moved = (channel: string): void => {
      this.connection.refresh();
      // If the last sharded channel of the connection has ended, ioredis would misread the messages of the channels of key events.
      if (link.hasKeyEvents) drop();
      else lost(channel);
    };
    const ended = (): void => {
      if (this.links.get(node.id) === link) this.links.delete(node.id);
      for (const channel of [...channels.keys()]) lost(channel);
    };
    const opening = this.connection.subscriber(node, { message: notify, lost: moved, ended });
    const drop = (): void => {
      void opening.then((subscriber) => subscriber.close()).catch(() => undefined);
      ended();
    };
    const link: Link = {
      ...{ node, channels, kept: new Map(), hasKeyEvents: false },
      ...{ opening, silentChecks: 0, clockMs: undefined, drop },
    };
    opening.then((own) => this.closed && own.close()).catch(ended);
    this.links.set(node.id, link);
    this.timer ??= setInterval(() => this.check(), CHECK_MS).unref();
    return link;
  }

  /**
   * Closes connections that no longer reply, for example because a firewall dropped them. Also calls the listeners of a node whose clock
   * was set forward: the time that they wait for comes earlier than they computed.
   */
  private check(): void {
    for (const link of [...this.links.values()]) {
      if (link.silentChecks >= MOST_SILENT_CHECKS) {
        link.drop();
        continue;
      }
      link.silentChecks += 1;
      const replied = (): void => void (link.silentChecks = 0);
      // An error reply also shows that the connection works.
      link.opening.then((subscriber) => subscriber.ping()).then(replied, replied);
      if (link.node.ready && link.clockMs !== null) void this.checkClock(link);
    }
  }

  private async checkClock(link: Link): Promise<void> {
    const sentAt = performance.now();
    let reply: unknown;
    try {
      reply = await link.node.send('TIME', []);
    } catch (error) {
      if ((error as CommandFailure).code === 'NOPERM') link.clockMs = null;
      return;
    }
    const [seconds, micros] = reply as [Buffer, Buffer];
    const clockMs = Number(seconds) * 1_000 + Number(micros) / 1_000 - (sentAt + performance.now()) / 2;
    const stepMs = clockMs - (link.clockMs ?? clockMs);
    if (Math.abs(stepMs) > CLOCK_STEP_MS || link.clockMs === undefined) link.clockMs = clockMs;
    if (stepMs <= CLOCK_STEP_MS) return;
    for (const { listeners } of link.channels.values()) for (const listener of [...listeners]) listener();
  }
}
