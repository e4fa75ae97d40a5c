import { Command, type Redis } from 'ioredis';
import { CommandFailure, type DedicatedConnection, type RedisCommand, type RedisNode } from './port';

/** What ioredis says of commands that it did not write. */
const NOT_WRITTEN = ["Stream isn't writeable", 'Connection in subscriber mode'];

/**
 * Sorts what ioredis rejects with into the three failures that the registry knows. Only the message is kept: ioredis
 * hangs the command on its errors, with the arguments of every call of a group.
 */
export function asFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (name === 'ReplyError' || name === 'ErrorReply') return new CommandFailure('reply', message);
  if (NOT_WRITTEN.some((start) => message.startsWith(start))) return new CommandFailure('not-sent', message);
  return new CommandFailure('lost', message);
}

/**
 * What is known when a command was sent a second time and failed then: that it was refused now does not say that it had
 * no effect before. A missing script is loaded and sent again, as part of the resending.
 */
export function afterResend(failure: CommandFailure): CommandFailure {
  if (failure.kind === 'lost' || failure.raisedByScript || failure.noScript) return failure;
  return new CommandFailure('lost', `the first answer was lost, and when sent again: ${failure.message}`);
}

/**
 * A reply with text in place of bytes, converted where it stands: ioredis would copy every array, and asks more of each
 * integer in it than the script cost.
 */
export function asText(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString();
  if (!Array.isArray(reply)) return reply;
  for (let i = 0; i < reply.length; i++) if (typeof reply[i] !== 'number') reply[i] = asText(reply[i]);
  return reply;
}

/**
 * A command that is sent as it is, and answered with bytes for text. `client.call` would do the same, but autopipelining takes hold of it.
 *
 * ioredis 5 names its class on the client; a client of another copy than the app's own is thereby served, too.
 */
export function commandFor(client: Redis, name: string, args: string[]): Command {
  const own = (client.constructor as { Command?: typeof Command }).Command;
  const command = new (own ?? Command)(name, []);
  // Set afterwards: the constructor flattens and converts its arguments, which are flat strings here.
  command.args = args;
  return command;
}

/**
 * A connection of an ioredis client as a RedisNode.
 *
 * Commands are written past the client's autopipelining, which loses keys of scripts on a Cluster, and past its
 * offline queue, where they would wait beyond their deadline.
 */
export class IoredisNode implements RedisNode {
  private readonly unanswered = new Set<(error: Error) => void>();
  private readonly resends: boolean;
  /** Connections that have closed: a command that outlives one was sent again. */
  private closes = 0;
  private readonly handlers: [event: string, handler: () => void][] = [];

  constructor(
    readonly client: Redis,
    readonly role: 'master' | 'replica',
  ) {
    this.resends = client.options.autoResendUnfulfilledCommands !== false;
    this.on('close', () => {
      this.closes += 1;
      this.loseUnanswered();
    });
  }

  /** Calls back when the connection has become usable and when it has gone. */
  onStatus(listener: (event: 'ready' | 'down') => void): void {
    this.on('ready', () => listener('ready'));
    this.on('close', () => listener('down'));
    this.on('end', () => listener('down'));
  }

  get id(): string {
    const { path, host, port } = this.client.options;
    return path ?? `${host ?? 'localhost'}:${port ?? 6379}`;
  }

  get ready(): boolean {
    // ioredis has no stream before the first connection, whatever its types say.
    const stream = this.client.stream as Redis['stream'] | undefined;
    return this.client.status === 'ready' && stream?.writable === true;
  }

  connect(): void {
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
  }

  send(name: string, args: string[]): Promise<unknown> {
    if (!this.ready) return Promise.reject(new CommandFailure('not-sent', `${this.id} is not connected`));
    let answer: Promise<unknown>;
    try {
      answer = this.client.sendCommand(commandFor(this.client, name, args)) as Promise<unknown>;
    } catch (error) {
      return Promise.reject(asFailure(error));
    }
    if (!this.resends) return this.untilClosed(answer);
    const { closes } = this;
    return answer.then(asText, (error: unknown) => {
      const failure = asFailure(error);
      throw closes === this.closes ? failure : afterResend(failure);
    });
  }

  /** Stops listening to the client; the client itself stays as it is. */
  forget(): void {
    for (const [event, handler] of this.handlers.splice(0)) this.client.off(event, handler);
  }

  /** The answer, or a failure when the connection closes: ioredis 6.0 settles neither when it resends nothing. */
  private untilClosed(answer: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const lose = (error: Error): void => reject(asFailure(error));
      this.unanswered.add(lose);
      answer
        .then(
          (reply) => resolve(asText(reply)),
          (error: unknown) => reject(asFailure(error)),
        )
        .finally(() => this.unanswered.delete(lose));
    });
  }

  private on(event: string, handler: () => void): void {
    this.client.on(event, handler);
    this.handlers.push([event, handler]);
  }

  private loseUnanswered(): void {
    for (const lose of this.unanswered) lose(new Error(`The connection to ${this.id} closed before the answer`));
  }
}

/**
 * Opens a connection like `client`'s that resends nothing, so that a lost reply is told as one.
 *
 * @param closed called when the connection is gone, so that the next use opens another
 */
export async function openDedicated(client: Redis, closed: () => void): Promise<DedicatedConnection> {
  // The database that was SELECTed since is the one in use, whatever the options said at first.
  const { select = client.options.db } = (client as unknown as { condition?: { select?: number } }).condition ?? {};
  const own = client.duplicate({
    db: select,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: false,
    lazyConnect: true,
    retryStrategy: () => null,
  });
  own.on('error', () => undefined);
  own.once('end', closed);
  const node = new IoredisNode(own, 'master');
  try {
    await own.connect();
  } catch (error) {
    own.disconnect();
    throw new CommandFailure('not-sent', error instanceof Error ? error.message : String(error));
  }
  return {
    sendAll: async (commands: readonly RedisCommand[]) => {
      const outcomes = await Promise.allSettled(commands.map(([name, args]) => node.send(name, args)));
      return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : asFailure(outcome.reason)));
    },
    close: () => own.disconnect(),
  };
}
