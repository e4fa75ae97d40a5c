import { AsyncResource } from 'node:async_hooks';
import * as timers from 'node:timers';
import type { DirectLink, MemoryRedis } from '../../../memory-redis/src';
import {
  type ChannelEvents,
  type ChannelSubscriber,
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  isKeyEvents,
  type Receiver,
  type RedisConnection,
  type RedisNode,
} from '../../../script-registry/src/internal';

// The fake timers of a test may replace this function later, so the real one is saved when this file is loaded.
const { setImmediate: immediately } = timers;

type Listener = (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void;

const CLOSED = new CommandFailure('lost', 'The connection to localhost:6379 closed before the reply');
const NOT_CONNECTED = new CommandFailure('not-sent', 'localhost:6379 is not connected, or not ready yet');

/**
 * Runs a command in a later turn of the event loop, as over a network, so that timers can run between two calls.
 *
 * @param settle gets the reply or a CommandFailure
 */
function runLater(link: DirectLink, name: string, args: CommandArg[], settle: (outcome: unknown) => void): void {
  immediately(() => {
    if (!link.isOpen) return settle(CLOSED);
    const reply = link.run(name, args);
    settle(reply instanceof Error ? new CommandFailure('reply', reply.message) : reply);
  });
}

/** Connects a ScriptRegistry to a MemoryRedis without a Redis client, for apps that have no ioredis client which could be connected. */
export class MemoryConnection implements RedisConnection, RedisNode {
  readonly clustered = false;
  readonly id = 'localhost:6379';
  readonly role = 'master';
  private readonly listeners = new Set<Listener>();
  private link: DirectLink | undefined;
  private stopWaiting: (() => void) | undefined;
  private own: DirectLink | undefined;
  private closed = false;

  constructor(private readonly server: MemoryRedis) {}

  get ready(): boolean {
    return this.link?.isOpen === true;
  }

  connect(): void {
    if (this.closed || this.ready) return;
    if (this.server.stopped) {
      this.stopWaiting ??= this.server.onStart(() => {
        this.stopWaiting = undefined;
        this.connect();
      });
      return;
    }
    this.link = this.server.link({
      ended: () => {
        this.report('down');
        this.connect();
      },
    });
    this.report('ready');
  }

  nodes(): readonly RedisNode[] {
    return [this];
  }

  lostMasters(): readonly string[] {
    return [];
  }

  nodeFor(): RedisNode {
    return this;
  }

  refresh(): void {
    this.connect();
  }

  send(name: string, args: CommandArg[]): Promise<unknown> {
    return new Promise((replied, failed) => this.run(name, args, { replied, failed }));
  }

  sendRouted(name: string, args: CommandArg[]): Promise<unknown> {
    return this.send(name, args);
  }

  run(name: string, args: CommandArg[], receiver: Receiver): void {
    const { link } = this;
    if (!link?.isOpen) return queueMicrotask(() => receiver.failed(NOT_CONNECTED));
    runLater(link, name, args, (outcome) => {
      if (outcome instanceof CommandFailure) receiver.failed(outcome);
      else receiver.replied(outcome);
    });
  }

  async sendMeasured(name: string, args: CommandArg[], took: (ms: number | undefined) => void): Promise<unknown> {
    const reply = await this.send(name, args);
    took(0);
    return reply;
  }

  dedicated(): Promise<DedicatedConnection> {
    if (this.server.stopped) return Promise.reject(NOT_CONNECTED);
    if (!this.own?.isOpen) this.own = this.server.link({ ended: () => undefined });
    const link = this.own;
    return Promise.resolve({
      sendAll: (commands) =>
        Promise.all(commands.map(([name, args]) => new Promise((settle) => runLater(link, name, args, settle)))),
      close: () => link.close(),
    });
  }

  subscriber(_: RedisNode, { message, ended }: ChannelEvents): Promise<ChannelSubscriber> {
    if (this.server.stopped) return Promise.reject(NOT_CONNECTED);
    // Without `bind`, the listener would run in the AsyncLocalStorage context of the code that publishes the message.
    const pass = AsyncResource.bind(message);
    const link = this.server.link({ message: (channel, text) => immediately(() => pass(channel, text)), ended });
    const run = (name: string, ...args: string[]): Promise<void> =>
      new Promise((resolve, reject) => {
        runLater(link, name, args, (outcome) => (outcome instanceof CommandFailure ? reject(outcome) : resolve()));
      });
    return Promise.resolve({
      // MemoryRedis sends no keyspace notifications, like a server with an empty `notify-keyspace-events`.
      subscribe: (channel) => (isKeyEvents(channel) ? Promise.resolve() : run('SSUBSCRIBE', channel)),
      unsubscribe: (channel) => (isKeyEvents(channel) ? Promise.resolve() : run('SUNSUBSCRIBE', channel)),
      ping: () => run('PING'),
      close: () => link.close(),
    });
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    this.connect();
    return () => void this.listeners.delete(listener);
  }

  close(): void {
    this.closed = true;
    this.stopWaiting?.();
    this.link?.close();
    this.own?.close();
  }

  private report(event: 'ready' | 'down'): void {
    for (const listener of [...this.listeners]) listener(event, this);
  }
}
