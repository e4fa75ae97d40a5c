import { Controller, Get, Module, type INestApplication } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  SkipThrottle,
  Throttle,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerModuleOptions,
} from '@nestjs/throttler';
import type { Cluster, Redis } from 'ioredis';
import { RateLimitThrottlerStorage, RateLimitThrottlerStorageModule } from 'luanest/rate-limit/throttler-storage';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';

export const platforms: [string, () => ExpressAdapter | FastifyAdapter][] = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
];

@Controller('cats')
class CatsController {
  @Get()
  @Throttle({ default: { limit: 2 } })
  all(): string {
    return 'all';
  }

  @Get('slow')
  @Throttle({ default: { limit: 2, ttl: 60_000, blockDuration: 700 } })
  blockedForLess(): string {
    return 'slow';
  }

  @Get('strict')
  @Throttle({ default: { limit: 2, ttl: 300, blockDuration: 900 } })
  blockedForMore(): string {
    return 'strict';
  }

  @Get('polled')
  @Throttle({ default: { limit: 5, ttl: 500 } })
  polled(): string {
    return 'polled';
  }

  @Get('free')
  @SkipThrottle()
  free(): string {
    return 'free';
  }

  @Get('spoilt')
  @Throttle({ default: { ttl: 0.5 } })
  spoilt(): string {
    return 'spoilt';
  }
}

@Controller('dogs')
@Throttle({ default: { limit: 3 } })
class DogsController {
  @Get()
  all(): string {
    return 'all';
  }

  @Get(':id')
  one(): string {
    return 'one';
  }
}

/** An app whose routes stand under throttler's own guard, on a port of its own. */
export class ThrottlerBench {
  private constructor(
    readonly app: INestApplication,
    readonly prefix: string,
    private readonly url: string,
  ) {}

  /** @param options for throttler, without the storage */
  static async open(
    client: Redis | Cluster,
    adapter: ExpressAdapter | FastifyAdapter,
    options: Exclude<ThrottlerModuleOptions, unknown[]>,
  ): Promise<ThrottlerBench> {
    class App {}
    const prefix = uniquePrefix();
    Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix }),
        ThrottlerModule.forRootAsync({
          // A busy machine must not turn a check into one without Redis.
          imports: [RateLimitThrottlerStorageModule.forRoot({ deadlineMs: 10_000 })],
          inject: [RateLimitThrottlerStorage],
          useFactory: (storage: RateLimitThrottlerStorage) => ({ ...options, storage }),
        }),
      ],
      controllers: [CatsController, DogsController],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    })(App);
    const app = await NestFactory.create(App, adapter, { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
    return new ThrottlerBench(app, prefix, await app.getUrl());
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<{ status: number; headers: Headers }> {
    const response = await fetch(`${this.url}${path}`, { headers });
    await response.arrayBuffer();
    return { status: response.status, headers: response.headers };
  }

  /** Statuses of requests that are made one after the other. */
  async statuses(path: string, count: number, headers: Record<string, string> = {}): Promise<number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) statuses.push((await this.get(path, headers)).status);
    return statuses;
  }
}
