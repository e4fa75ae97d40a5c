import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisFolder } from './redis-folder';
import type { RedisEndpoint } from './redis-inline';

/** Logger for restarts of the embedded servers. */
export interface EmbeddedRedisLog {
  log(message: string): void;
  warn(message: string): void;
}

/** Starts the `redis-server` of a folder again, on the same port, when it dies. */
export class ServerWatch {
  private watched: Socket | undefined;
  private recovery: Promise<void> = Promise.resolve();
  private stopping = false;

  constructor(
    private readonly folder: RedisFolder,
    private readonly endpoint: RedisEndpoint,
    private readonly logger: EmbeddedRedisLog,
  ) {}

  /** Starts the watch with an idle connection. The kernel closes the connection as soon as the server dies. */
  start(): void {
    const socket = connect(this.endpoint.port, this.endpoint.host);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      if (!this.stopping) this.recovery = this.recover();
    });
    socket.resume();
    socket.unref();
    this.watched = socket;
  }

  /** Ends the watch. Waits for a restart that is in flight. Harmless twice. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.recovery;
    this.watched?.destroy();
  }

  private async recover(): Promise<void> {
    this.logger.warn(
      `The connection to the embedded redis-server on port ${this.endpoint.port} closed. Starting it again if it has ended.`,
    );
    for (let delayMs = 100; !this.stopping; delayMs = Math.min(delayMs * 2, 5_000)) {
      try {
        await this.folder.ensureServer(this.endpoint.port);
        this.logger.log(`The embedded redis-server runs on port ${this.endpoint.port}`);
        return this.start();
      } catch (error) {
        this.logger.warn(error instanceof Error ? error.message : String(error));
        await sleep(delayMs);
      }
    }
  }
}
