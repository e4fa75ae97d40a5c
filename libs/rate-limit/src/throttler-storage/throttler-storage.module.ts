import { Module } from '@nestjs/common';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { defineLuanestModule } from '../../../internal/src';
import { RedisLimiter } from '../limiter/redis-limiter';
import { rateLimitScripts } from '../rate-limit.scripts';
import { RateLimitService } from '../rate-limit.service';
import {
  resolveStorageOptions,
  type RateLimitThrottlerStorageModuleOptions,
  type ResolvedThrottlerStorageOptions,
} from './throttler-storage.options';
import { RateLimitThrottlerStorage } from './throttler-storage.service';

/** Settings that must be known before the options are: they shape the module itself. */
export interface RateLimitThrottlerStorageModuleExtras {
  /** Name of the ScriptRegistry to run on. Default: the default one. */
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
          const service = new RateLimitService(new RedisLimiter(scripts, limiter.tags), limiter);
          return new RateLimitThrottlerStorage(service, algorithm);
        },
      },
    ],
    exports: [RateLimitThrottlerStorage],
  }),
});

/** Gives RateLimitThrottlerStorage to the `ThrottlerModule.forRootAsync` that imports it. Every option has a default. */
@Module({})
export class RateLimitThrottlerStorageModule extends StorageModuleBase {}
