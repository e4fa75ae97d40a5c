import type { Listener } from './listener';
import type { MemorySocket, RefusedSocket } from './memory-socket';

export interface MemoryConnector {
  check(): boolean;
  connect(): Promise<MemorySocket | RefusedSocket>;
  disconnect(): void;
}

/** Returns a class for the option `Connector` of ioredis 5 and 6. Its instances connect to a server in this process. */
export function connectorTo(listener: Listener): new (options?: unknown) => MemoryConnector {
  return class implements MemoryConnector {
    private socket: MemorySocket | RefusedSocket | undefined;

    check(): boolean {
      return true;
    }

    connect(): Promise<MemorySocket | RefusedSocket> {
      this.socket = listener.connect();
      return Promise.resolve(this.socket);
    }

    disconnect(): void {
      this.socket?.destroy();
    }
  };
}
