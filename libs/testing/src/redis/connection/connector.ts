import type { Server } from '../server';
import { MemorySocket } from './memory-socket';

/** What ioredis needs of the option `Connector`. */
export interface MemoryConnector {
  check(): boolean;
  connect(): Promise<MemorySocket>;
  disconnect(): void;
}

/** Returns a class for the option `Connector` of ioredis 5 and 6, whose connections are to a server in this process. */
export function connectorTo(server: Server): new (options: unknown) => MemoryConnector {
  return class implements MemoryConnector {
    private socket: MemorySocket | undefined;

    check(): boolean {
      return true;
    }

    connect(): Promise<MemorySocket> {
      this.socket = new MemorySocket(server);
      return Promise.resolve(this.socket);
    }

    disconnect(): void {
      this.socket?.destroy();
    }
  };
}
