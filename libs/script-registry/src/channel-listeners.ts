import { isKeyEvents } from './connection/key-events';
import type { ChannelSubscriber, CommandFailure, RedisConnection, RedisNode } from './connection/port';
import { messageOf } from '../../internal/src';
import { NotSentError } from './script-registry.errors';

/** Pause between two checks of the connections for Pub/Sub, ms. */
const CHECK_MS = 5_000;
/** A connection is closed after this many checks in a row without a reply. One missing reply may only mean that this process was paused. */
const MOST_SILENT_CHECKS = 2;
/** If the clock of Redis jumps forward by more than this, ms, listeners are called, because they may wait for a time of that clock. */
const CLOCK_STEP_MS = 250;

/** Function that gets the text of each message, or no text if it may have missed messages. */
export type ChannelListener = (message?: string) => void;

interface Channel {
  readonly slot: number;
  readonly listeners: Set<ChannelListener>;
  readonly subscribed: Promise<void>;
}

interface Link {
  readonly node: RedisNode;
  readonly opening: Promise<ChannelSubscriber>;
  readonly channels: Map<string, Channel>;
  /**
   * Channels without a listener whose subscription is kept: at most one sharded channel (key false), and one channel of keyspace
   * notifications (key true).
   */
  readonly kept: Map<boolean, string>;
  /** True if this connection has ever subscribed to keyspace notifications. */
  hasKeyEvents: boolean;
  /** Number of PINGs without a reply since the last reply. */
  silentChecks: number;
  /**
   * Clock of the Redis node minus `performance.now()`, ms. Null if the Redis user may not send TIME. Undefined before the first reading.
   */
  clockMs: number | null | undefined;
  /** Closes the connection, and calls each of its listeners once without a text, because they may miss messages from now on. */
  readonly drop: () => void;
}

/**
 * Passes Pub/Sub messages to listeners: messages of sharded channels, and keyspace notifications. All listeners of a node share one
 * connection. The first `listen` opens it.
 * See DECISIONS.md: listeners-need-not-ask
 */
export class ChannelListeners {
  private readonly links = new Map<string, Link>();
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(private readonly connection: RedisConnection) {}

  /**
   * Calls `listener` with each message of the channel. When the subscription ends, calls it once without a text; the caller must then call
   * `listen` again to get more messages. A call without a text may also come if `listen` rejects, or if the clock of Redis was set forward.
   * In the latter case, the subscription stays.
   *
   * @returns a function that stops calling the listener
   * @throws NotSentError if the subscription fails, or ScriptRegistry is closed
   */
  async listen(slot: number, channel: string, listener: ChannelListener): Promise<() => void> {
    if (this.closed)
      throw new NotSentError('ScriptRegistry did not subscribe to the channel, because the app is shutting down.');
    const node = this.connection.nodeFor(slot);
    if (!node?.ready) {
      throw new NotSentError(
        `ScriptRegistry did not subscribe to the channel, because the Redis node of hash slot ${slot} is not connected, or not ready yet.`,
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
      throw new NotSentError(`ScriptRegistry could not subscribe to the channel: ${reason}`, { cause });
    }
    return stop;
  }

  /**
   * Closes the Pub/Sub connection to a node, and calls its listeners without a text, so that they listen again. Called after the client has
   * reconnected, because the address may now belong to another server.
   */
  reconnected(node: RedisNode): void {
    this.links.get(node.id)?.drop();
  }

  /**
   * Closes each Pub/Sub connection that has a channel whose hash slot has moved to another node. Calls all listeners of the connection
   * without a text, so that they listen again.
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
   * Returns the channel to unsubscribe from after `channel` has lost its last listener. There are two kinds: sharded channels, and channels
   * of keyspace notifications. ioredis ends all subscriptions when one kind has no channel any more. So the last channel of a kind stays
   * subscribed. If another channel was kept for this reason before, that channel is returned.
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
      // ioredis misreads keyspace notifications after the last sharded channel of a connection has ended.
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
   * Closes connections that do not reply any more, for example because a firewall dropped them. Also wakes the listeners of a node whose
   * clock was set forward, because the time that they wait for comes earlier than expected.
   */
  private check(): void {
    for (const link of [...this.links.values()]) {
      if (link.silentChecks >= MOST_SILENT_CHECKS) {
        link.drop();
        continue;
      }
      link.silentChecks += 1;
      const replied = (): void => void (link.silentChecks = 0);
      // An error reply also proves that the connection works.
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
