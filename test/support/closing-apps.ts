import { ConsoleLogger, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { RedisModule } from '@liaoliaots/nestjs-redis';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { CommandWatcher } from './command-watcher';

/** Starts apps that a test closes, on their own Redis. Records all commands sent to Redis, and all unhandled rejections. */
export class ClosingApps {
  readonly unhandled: unknown[] = [];
  private readonly onUnhandled = (reason: unknown): void => void this.unhandled.push(reason);

  private constructor(
    readonly server: RedisServer,
    readonly watcher: CommandWatcher,
  ) {
    process.on('unhandledRejection', this.onUnhandled);
  }

  static async open(): Promise<ClosingApps> {
    const server = await startRedis();
    return new ClosingApps(server, await CommandWatcher.open(server.port));
  }

  /** Starts an app like those of users. RedisModule makes its Redis client, and quits the client at shutdown. */
  async start(prefix: string, { imports = [], providers = [] }: ModuleMetadata): Promise<TestingModule> {
    const onClientCreated = (client: { on(event: 'error', listener: () => void): unknown }): void =>
      void client.on('error', () => undefined);
    const app = await Test.createTestingModule({
      imports: [
        RedisModule.forRoot({ config: { url: this.server.url, onClientCreated }, closeClient: true }, true),
        ScriptRegistryModule.forRoot({ prefix }),
        ...imports,
      ],
      providers,
    })
      .setLogger(new ConsoleLogger({ logLevels: [] }))
      .compile();
    await app.init();
    return app;
  }

  async close(): Promise<void> {
    process.off('unhandledRejection', this.onUnhandled);
    this.watcher.close();
    await this.server.stop();
  }
}
