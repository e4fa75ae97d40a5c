import type { Server } from '../server';
import { MemorySocket, RefusedSocket } from './memory-socket';

/** Accepts the connections to a server in this process. */
export class Listener {
  private readonly sockets = new Set<MemorySocket>();
  isStopped = false;

  constructor(private readonly server: Server) {}

  connect(): MemorySocket | RefusedSocket {
    if (this.isStopped) return new RefusedSocket();
    const socket = new MemorySocket(this.server);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    return socket;
  }

  /** Closes all connections, and refuses new ones. */
  stop(): void {
    this.isStopped = true;
    for (const socket of this.sockets) socket.destroy();
  }

  start(): void {
    this.isStopped = false;
  }
}
