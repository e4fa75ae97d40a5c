import type { Server } from '../server';
import { MemorySocket, RefusedSocket } from './memory-socket';

interface Stoppable {
  destroy(): void;
}

/** Accepts and closes the connections to a server in this process. */
export class Listener {
  private readonly open = new Set<Stoppable>();
  private readonly waiting = new Set<() => void>();
  isStopped = false;

  constructor(private readonly server: Server) {}

  connect(): MemorySocket | RefusedSocket {
    if (this.isStopped) return new RefusedSocket();
    const socket = new MemorySocket(this.server);
    socket.once('close', this.add(socket));
    return socket;
  }

  /** Adds a connection that `stop()` must close. @returns a function that removes the connection */
  add(connection: Stoppable): () => void {
    this.open.add(connection);
    return () => void this.open.delete(connection);
  }

  /** Calls `started` at the next `start()`, once. @returns a function that cancels this */
  onStart(started: () => void): () => void {
    this.waiting.add(started);
    return () => void this.waiting.delete(started);
  }

  /** Closes all connections, and refuses new ones. */
  stop(): void {
    this.isStopped = true;
    for (const connection of [...this.open]) connection.destroy();
  }

  start(): void {
    this.isStopped = false;
    for (const started of [...this.waiting]) {
      this.waiting.delete(started);
      started();
    }
  }
}
