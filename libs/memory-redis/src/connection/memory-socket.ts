import { AsyncResource } from 'node:async_hooks';
import { Duplex } from 'node:stream';
import * as timers from 'node:timers';
import { RedisError, type Reply } from '../reply';
import { encode, RequestReader } from '../resp';
import type { Server } from '../server';
import type { Session } from '../session';

// Read now, because fake timers of a test may replace them later, also in `node:timers`.
const { setImmediate: immediately } = timers;

/** A stream with the methods of a socket that a client calls. */
abstract class SocketLike extends Duplex {
  /** Settings of sockets, which have no meaning here. */
  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  override _read(): void {
    // Nothing must be read: replies are pushed as soon as they are made.
  }
}

/** The client's end of a connection that is refused, as by a host on which no server runs. */
export class RefusedSocket extends SocketLike {
  /** True until the socket is connected, which this one never is. */
  readonly connecting = true;

  constructor() {
    super();
    const address = { errno: -111, code: 'ECONNREFUSED', syscall: 'connect', address: '127.0.0.1', port: 6379 };
    const error = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), address);
    immediately(() => this.destroy(error));
  }

  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    done();
  }
}

/** The client's end of a connection to a server in this process. A client uses it as it uses a socket. */
export class MemorySocket extends SocketLike {
  private readonly reader = new RequestReader();
  private readonly session: Session;
  private isQuitting = false;
  /** That of the client, for messages of channels. Another client has caused them. */
  private readonly context = new AsyncResource('MemorySocket');

  constructor(private readonly server: Server) {
    super({ allowHalfOpen: false });
    this.session = server.open(
      (reply) => this.context.runInAsyncScope(() => this.reply(reply)),
      () => (this.isQuitting = true),
    );
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // Later, as over a network: a client notes what it has sent after it has written it, and timers run between two calls.
    immediately(() => {
      if (this.destroyed) return done();
      for (const words of this.reader.read(chunk.toString('latin1'))) {
        if (!this.isQuitting) this.reply(this.execute(words));
      }
      if (this.isQuitting) this.push(null);
      done();
    });
  }

  override _final(done: (error?: Error | null) => void): void {
    this.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.server.forget(this.session);
    done(error);
  }

  private execute(words: readonly string[]): Reply {
    try {
      return this.server.execute(this.session, words);
    } catch (error) {
      // A defect of the server: the client gets it as a reply, and the connection goes on.
      return new RedisError(`ERR the in-memory server failed: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }

  private reply(reply: Reply): void {
    const text = encode(reply, this.session.protocol);
    if (text !== '' && !this.destroyed) this.push(Buffer.from(text, 'latin1'));
  }
}
