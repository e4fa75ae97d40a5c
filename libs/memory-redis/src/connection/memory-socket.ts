import { AsyncResource } from 'node:async_hooks';
import { Duplex } from 'node:stream';
import * as timers from 'node:timers';
import { RedisError, type Reply } from '../reply';
import { encode, RequestReader } from '../resp';
import type { Server } from '../server';
import type { Session } from '../session';

// The fake timers of a test may replace this function later, so the real one is saved when this file is loaded.
const { setImmediate: immediately } = timers;

/** A stream that has the methods of a socket that clients of Redis call. */
abstract class SocketLike extends Duplex {
  /** Does nothing, because this is not a TCP socket. */
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
    // A reply is pushed as soon as it exists, so reading needs no action.
  }
}

/** The client's end of a connection that is refused, as if no server ran. */
export class RefusedSocket extends SocketLike {
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

/** The client's end of a connection to a server in this process. Clients use it like a TCP socket. */
export class MemorySocket extends SocketLike {
  private readonly reader = new RequestReader();
  private readonly session: Session;
  private isQuitting = false;
  /**
   * Async context (AsyncLocalStorage) in which the client has connected. Pub/Sub messages are delivered in it, and not in the context of
   * the publisher.
   */
  private readonly context = new AsyncResource('MemorySocket');

  constructor(private readonly server: Server) {
    super({ allowHalfOpen: false });
    this.session = server.open(
      (reply) => this.context.runInAsyncScope(() => this.reply(reply)),
      () => (this.isQuitting = true),
    );
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // The reply comes later, as over a network, because clients record a command only after they have written it. Timers can also run
    // between two calls.
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
      // An error that is not a RedisError is a bug of MemoryRedis. The client gets it as an error reply, and the connection stays open.
      return new RedisError(`ERR the in-memory server failed: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }

  private reply(reply: Reply): void {
    const text = encode(reply, this.session.protocol);
    if (text !== '' && !this.destroyed) this.push(Buffer.from(text, 'latin1'));
  }
}
