import { Module } from '@nestjs/common';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { defineLuanestModule } from '../../../internal/src';
import { RedisLimiter } from '../limiter/redis-limiter';
import { ResilientLimiter } from '../limiter/resilient-limiter';
import { rateLimitScripts } from '../rate-limit.scripts';
import {
  resolveStorageOptions,
  type RateLimitThrottlerStorageModuleOptions,
  type ResolvedThrottlerStorageOptions,
} from './throttler-storage.options';
import { RateLimitThrottlerStorage } from './throttler-storage.service';

/** Settings that shape the module itself, so they are given next to the options, also to `forRootAsync`. */
export interface RateLimitThrottlerStorageModuleExtras {
  /** Name of the ScriptRegistry to use. Default: the default one. */
  readonly registry?: string;
}

const StorageModuleBase = defineLuanestModule<
  RateLimitThrottlerStorageModuleOptions,
  RateLimitThrottlerStorageModuleExtras,
  ResolvedThrottlerStorageOptions
>({
  name: 'RateLimitThrottlerStorageModule',
  resolve: resolveStorageOptions,
  isGlobal: false,
  once: null,
  parts: ({ registry }, token) => ({
    imports: [ScriptRegistryModule.forFeature(rateLimitScripts, registry)],
    providers: [
      {
        provide: RateLimitThrottlerStorage,
        inject: [getScriptRegistryToken(registry), token],
        useFactory: (scripts: ScriptRegistry, { algorithm, limiter }: ResolvedThrottlerStorageOptions) => {
          const resilient = new ResilientLimiter(new RedisLimiter(scripts, limiter.tags), limiter);
          return new RateLimitThrottlerStorage(resilient, algorithm);
        },
      },
    ],
    exports: [RateLimitThrottlerStorage],
  }),
});

/** Provides RateLimitThrottlerStorage to the `ThrottlerModule.forRootAsync` that imports it. Every option has a default. */
@Module({})
export class RateLimitThrottlerStorageModule extends StorageModuleBase {}
