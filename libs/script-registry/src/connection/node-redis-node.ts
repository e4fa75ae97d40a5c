import { messageOf } from '../../../internal/src';
import { isKeyEvents, nameInDatabase, nameOfKeyEvents } from './key-events';
import {
  type ChannelEvents,
  type ChannelSubscriber,
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  type Receiver,
  type RedisCommand,
  type RedisNode,
} from './port';
import { passText, sendBetweenTimes } from './replies';

/**
 * The part of a client of node-redis that luanest uses. It is declared here, because the package is optional, so its types cannot be
 * imported.
 */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: NodeRedisOptions | undefined;
  connect(): Promise<unknown>;
  sendCommand(args: readonly CommandArg[], options?: object): Promise<unknown>;
  sSubscribe(channel: string, listener: (text: string, channel: string) => void): Promise<unknown>;
  sUnsubscribe(channel: string, listener: (text: string, channel: string) => void): Promise<unknown>;
  subscribe(channel: string, listener: (text: string, channel: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (text: string, channel: string) => void): Promise<unknown>;
  duplicate(overrides: object): NodeRedisClient;
  close(): Promise<unknown>;
  destroy(): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

interface NodeRedisOptions {
  readonly socket?: { readonly host?: string; readonly port?: number; readonly path?: string };
  readonly database?: number;
  readonly keyPrefix?: string;
}

/** Makes node-redis decode replies in the same way as ioredis. The keys are the first characters of the RESP types. */
const TYPES = {
  [code('$')]: Buffer,
  [code('+')]: Buffer,
  [code('=')]: Buffer,
  [code(',')]: String,
  [code('(')]: String,
  [code('%')]: Array,
};
/**
 * Options of each command. Without `timeout: undefined`, node-redis 6 would create an AbortSignal and a timer per command, although
 * ScriptRegistry has its own deadlines.
 */
const COMMAND_OPTIONS = { typeMapping: TYPES, timeout: undefined, abortSignal: undefined, asap: undefined };

function code(character: string): number {
  return character.charCodeAt(0);
}

/** Messages of the errors after which node-redis will never write the command. After any other error, it may have written the command. */
const NOT_WRITTEN = new Set([
  'The client is closed',
  'The client is offline',
  'The command was aborted',
  'The queue is full',
]);

/**
 * Returns true for an error reply of Redis. The class is recognised by its name, `ErrorReply`, because the client may come from another
 * copy of node-redis. If a bundler has shortened that name, the message must begin as error replies do, such as with `WRONGTYPE `.
 */
function isReply(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  for (let proto: unknown = error.constructor; proto !== Error && typeof proto === 'function';) {
    if (proto.name === 'ErrorReply') return true;
    proto = Object.getPrototypeOf(proto);
  }
  return error.constructor !== Error && !('code' in error) && /^[A-Z]{3,} /.test(error.message);
}

export function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const message = messageOf(error);
  if (isReply(error)) return new CommandFailure('reply', message);
  return new CommandFailure(NOT_WRITTEN.has(message) ? 'not-sent' : 'lost', message);
}

/**
 * One connection of a node-redis client. The client never writes a command twice. It writes a command at the end of the turn of the event
 * loop, or later if the socket is full. If the connection is lost before, it writes the command to the next connection.
 */
export class NodeRedisNode implements RedisNode {
  private readonly handlers: [event: string, handler: () => void][] = [];
  private mayConnect: boolean;

  constructor(
    readonly client: NodeRedisClient,
    readonly role: 'master' | 'replica',
  ) {
    this.mayConnect = !client.isOpen;
  }

  /** @param listener `down` may be called several times for one outage */
  onStatus(listener: (event: 'ready' | 'down') => void): void {
    this.on('ready', () => listener('ready'));
    for (const event of ['reconnecting', 'error', 'end']) this.on(event, () => listener('down'));
  }

  get id(): string {
    const { path, host = 'localhost', port = 6379 } = this.client.options?.socket ?? {};
    return path ?? `${host}:${port}`;
  }

  get ready(): boolean {
    return this.client.isReady;
  }

  connect(): void {
    // A client that the app has closed must stay closed.
    if (this.mayConnect && !this.client.isOpen) this.client.connect().catch(() => undefined);
    this.mayConnect = false;
  }

  send(name: string, args: CommandArg[]): Promise<unknown> {
    return new Promise((replied, failed) => this.run(name, args, { replied, failed }));
  }

  run(name: string, args: CommandArg[], receiver: Receiver): void {
    if (!this.ready) {
      const failure = new CommandFailure('not-sent', `${this.id} is not connected, or not ready yet`);
      return queueMicrotask(() => receiver.failed(failure));
    }
    this.client.sendCommand([name, ...args], COMMAND_OPTIONS).then(
      (reply) => (Buffer.isBuffer(reply) ? passText(reply, receiver) : receiver.replied(reply)),
      (error: unknown) => receiver.failed(failureOf(error)),
    );
  }

  /** Sends ASKING, then the command. node-redis writes them directly one after the other. */
  sendAsking(name: string, args: CommandArg[]): Promise<unknown> {
    this.send('ASKING', []).catch(() => undefined);
    return this.send(name, args);
  }

  sendMeasured(name: string, args: CommandArg[], took: (ms: number | undefined) => void): Promise<unknown> {
    // node-redis writes all commands of one turn of the event loop together: here TIME, the command and TIME, with nothing between them.
    return this.ready ? sendBetweenTimes(this, name, args, took) : this.send(name, args);
  }

  /** Removes the listeners that this object has added to the client. */
  forget(): void {
    for (const [event, handler] of this.handlers.splice(0)) this.client.off(event, handler);
  }

  private on(event: string, handler: () => void): void {
    this.client.on(event, handler);
    this.handlers.push([event, handler]);
  }
}

/**
 * Opens a copy of a client. The copy does not reconnect.
 *
 * @param ended called once when the connection has ended
 * @throws CommandFailure if the connection cannot be opened
 */
async function openCopy(client: NodeRedisClient, overrides: object, ended: () => void): Promise<NodeRedisClient> {
  const socket = { ...client.options?.socket, reconnectStrategy: false };
  const own = client.duplicate({ ...overrides, socket, disableOfflineQueue: true });
  let cause: unknown;
  const note = (error: unknown): void => void (cause ??= error);
  own.on('error', note);
  try {
    await own.connect();
  } catch (error) {
    destroy(own);
    throw new CommandFailure('not-sent', `No connection could be opened: ${messageOf(cause ?? error)}`);
  }
  let open = true;
  const end = (): void => {
    if (!open) return;
    open = false;
    destroy(own);
    ended();
  };
  own.on('error', end);
  own.on('end', end);
  if (!own.isReady) end();
  return own;
}

/** Closes a client at once. Does nothing if the client is closed already. */
export function destroy(client: { destroy(): void }): void {
  try {
    client.destroy();
  } catch {
    // node-redis 5 throws if the client is closed already.
  }
}

/**
 * Returns the number of the database that the client uses now. The client's options may be outdated, because the app may have sent SELECT.
 */
async function databaseOf(client: NodeRedisClient): Promise<number> {
  const known = client.options?.database ?? 0;
  try {
    const info = String(await client.sendCommand(['CLIENT', 'INFO'], COMMAND_OPTIONS));
    return Number(/(?:^| )db=(\d+)/.exec(info)?.[1] ?? known);
  } catch {
    return known;
  }
}

/** Opens a connection to the server of `client`. @param closed called when the connection has ended @throws CommandFailure */
export async function openDedicated(client: NodeRedisClient, closed: () => void): Promise<DedicatedConnection> {
  const own = await openCopy(client, { database: await databaseOf(client) }, closed);
  const node = new NodeRedisNode(own, 'master');
  return {
    sendAll: async (commands: readonly RedisCommand[]) => {
      const outcomes = await Promise.allSettled(commands.map(([name, args]) => node.send(name, args)));
      return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as unknown)));
    },
    close: () => destroy(own),
  };
}

/** Opens a connection to the server of `client`, for subscriptions to channels. @throws CommandFailure */
export async function openSubscriber(
  client: NodeRedisClient,
  { message, lost, ended }: ChannelEvents,
): Promise<ChannelSubscriber> {
  const own = await openCopy(client, {}, ended);
  own.on('sharded-channel-moved', (channel: string) => lost(channel));
  const listener = (text: string, channel: string): void => message(channel, text);
  const keyListener = (text: string, channel: string): void => message(nameOfKeyEvents(channel), text);
  let database: Promise<number> | undefined;
  const nameOf = async (channel: string): Promise<string> =>
    nameInDatabase(channel, await (database ??= databaseOf(client)));
  return {
    async subscribe(channel) {
      try {
        if (isKeyEvents(channel)) await own.subscribe(await nameOf(channel), keyListener);
        else await own.sSubscribe(channel, listener);
      } catch (error) {
        throw failureOf(error);
      }
    },
    async unsubscribe(channel) {
      // With its listener. Without one, node-redis takes a channel for subscribed until the reply comes. A `subscribe` before that would send
      // nothing, and the reply would then end it.
      if (isKeyEvents(channel)) await own.unsubscribe(await nameOf(channel), keyListener);
      else await own.sUnsubscribe(channel, listener);
    },
    ping: () => own.sendCommand(['PING'], COMMAND_OPTIONS),
    close: () => destroy(own),
  };
}
