import { ConfigurableModuleBuilder, Module, type DynamicModule } from '@nestjs/common';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { checkObject } from '../../../internal/src';
import { RedisLimiter } from '../limiter/redis-limiter';
import { rateLimitScripts } from '../rate-limit.scripts';
import { RateLimitService } from '../rate-limit.service';
import { resolveStorageOptions, type RateLimitThrottlerStorageOptions } from './throttler-storage.options';
import { RateLimitThrottlerStorage } from './throttler-storage.service';

/** Settings that must be known before the options are: they shape the module itself. */
export interface RateLimitThrottlerStorageModuleExtras {
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
}

const RAW_OPTIONS = Symbol('luanest:rate-limit-throttler-storage-options');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<RateLimitThrottlerStorageOptions>({
  optionsInjectionToken: RAW_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<RateLimitThrottlerStorageModuleExtras>({ registry: undefined }, (definition, { registry }) => ({
    ...definition,
    imports: [...(definition.imports ?? []), ScriptRegistryModule.forFeature(rateLimitScripts, registry)],
    providers: [
      ...(definition.providers ?? []),
      {
        provide: RateLimitThrottlerStorage,
        inject: [getScriptRegistryToken(registry), RAW_OPTIONS],
        useFactory: (scripts: ScriptRegistry, raw: RateLimitThrottlerStorageOptions) => {
          const { algorithm, limiter } = resolveStorageOptions(raw);
          const service = new RateLimitService(new RedisLimiter(scripts, limiter.tags), limiter);
          return new RateLimitThrottlerStorage(service, algorithm);
        },
      },
    ],
    exports: [RateLimitThrottlerStorage],
  }))
  .build();

/** Gives RateLimitThrottlerStorage to the `ThrottlerModule.forRootAsync` that imports it. */
@Module({})
export class RateLimitThrottlerStorageModule extends ConfigurableModuleClass {
  /**
   * As the other modules' `forRoot`, and also without options, since each has a default.
   *
   * @throws InvalidOptionError for what is no object; options that cannot work are refused when the app boots
   */
  static override forRoot(
    options: RateLimitThrottlerStorageOptions & RateLimitThrottlerStorageModuleExtras = {},
  ): DynamicModule {
    return super.forRoot(checkObject('', options));
  }
}
