import { Module } from '@nestjs/common';
import { ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { defineLuanestModule, type ModuleExtras, type NeededRegistry, neededRegistry } from '../../../internal/src';
import { RedisLimiter } from '../limiter/redis-limiter';
import { ResilientLimiter } from '../limiter/resilient-limiter';
import { rateLimitScripts } from '../rate-limit.scripts';
import {
  resolveStorageOptions,
  type RateLimitThrottlerStorageModuleOptions,
  type ResolvedThrottlerStorageOptions,
} from './throttler-storage.options';
import { RateLimitThrottlerStorage } from './throttler-storage.service';

const StorageModuleBase = defineLuanestModule<
  RateLimitThrottlerStorageModuleOptions,
  Pick<ModuleExtras, 'registry'>,
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
        inject: [neededRegistry(registry), token],
        useFactory: (
          scripts: NeededRegistry<ScriptRegistry>,
          { algorithm, limiter }: ResolvedThrottlerStorageOptions,
        ) => {
          const resilient = new ResilientLimiter(new RedisLimiter(scripts.registry), limiter);
          return new RateLimitThrottlerStorage(resilient, algorithm);
        },
      },
    ],
    exports: [RateLimitThrottlerStorage],
  }),
});

/**
 * Provides RateLimitThrottlerStorage. Add this module to the `imports` of `ThrottlerModule.forRootAsync`, and inject
 * RateLimitThrottlerStorage there. Every option has a default.
 */
@Module({})
export class RateLimitThrottlerStorageModule extends StorageModuleBase {}
