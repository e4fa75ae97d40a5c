import { isKeyEvents } from './connection/key-events';
import type { ChannelSubscriber, CommandFailure, RedisConnection, RedisNode } from './connection/port';
import { messageOf } from '../../internal/src';
import { NotSentError } from './script-registry.errors';

/** Pause between two checks of the connections, ms. */
const CHECK_MS = 5_000;
/** A connection that has not replied for this many checks is given up. One check may fail because this process itself was paused. */
const MOST_SILENT_CHECKS = 2;
/** A node's clock that steps forward by more than this wakes the listeners, ms. */
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
  /** Channels that have no listener and are still subscribed to: at most one sharded channel, and one channel of key events. */
  readonly kept: Map<boolean, string>;
  /** True if there was a channel of key events. */
  hasKeyEvents: boolean;
  /** Checks whose PING has no reply yet. */
  silentChecks: number;
  /** Node's clock minus the clock of this process, ms; null if this user may not read it. */
  clockMs: number | null | undefined;
  /** Calls each listener once, because messages may be missed from now on. Closes the connection. */
  readonly drop: () => void;
}

/**
 * Listeners of sharded channels and of channels of key events. All listeners of a node share one connection, which is opened when it is needed.
 * See DECISIONS.md: listeners-need-not-ask
 */
export class ChannelListeners {
  private readonly links = new Map<string, Link>();
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(private readonly connection: RedisConnection) {}

  /**
   * Calls `listener` at each message of the channel, and once if messages may be missed from now on. After that it is not called
   * until `listen` is called again. It may also be called once if `listen` rejects, and when the clock of the node has been set forward.
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

  /** Opens a new connection for the listeners of a node, because the client has reconnected to the node, which may be another server now. */
  reconnected(node: RedisNode): void {
    this.links.get(node.id)?.drop();
  }

  /** Opens new connections for the listeners of slots that are on another node now. */
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
   * Returns the channel to unsubscribe from when a channel has lost its last listener: that one, or one that was kept before. The last channel of a kind is kept:
   * Redis counts the channels of each kind, and ioredis takes a 0 for the end of all subscriptions.
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
      // After the end of its last sharded channel, ioredis would misread the messages of the others.
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
   * Gives up connections that have died without a sign, for example behind a firewall that forgot them. Wakes the listeners of a node
   * whose clock was set forward, because what they wait for is due earlier than they computed.
   */
  private check(): void {
    for (const link of [...this.links.values()]) {
      if (link.silentChecks >= MOST_SILENT_CHECKS) {
        link.drop();
        continue;
      }
      link.silentChecks += 1;
      const replied = (): void => void (link.silentChecks = 0);
      // An error is a reply, too.
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
