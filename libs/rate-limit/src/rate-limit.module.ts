import { Module, type Provider } from '@nestjs/common';
import {
  APP_INTERCEPTOR,
  ApplicationConfig,
  DiscoveryModule,
  DiscoveryService,
  HttpAdapterHost,
  MetadataScanner,
  ModulesContainer,
} from '@nestjs/core';
import { ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { defineLuanestModule, type ModuleExtras, type NeededRegistry, neededRegistry } from '../../internal/src';
import { RedisLimiter } from './limiter/redis-limiter';
import { ResilientLimiter } from './limiter/resilient-limiter';
import { RateLimitEnforcer, RateLimitGuard } from './rate-limit.guard';
import { RateLimitExplorer } from './rate-limit.explorer';
import { RateLimitInterceptor } from './rate-limit.interceptor';
import {
  RATE_LIMIT_OPTIONS,
  resolveOptions,
  type RateLimitModuleOptions,
  type ResolvedRateLimitOptions,
} from './rate-limit.options';
import { rateLimitScripts } from './rate-limit.scripts';
import { RateLimitService } from './rate-limit.service';
import { GuardedRoutes } from './rules/guarded-routes';

/** Settings of RateLimitModule that Nest needs before it knows the options. With `forRootAsync`, write them next to `useFactory`. */
export interface RateLimitModuleExtras extends ModuleExtras {
  /**
   * Applies RateLimitInterceptor to all handlers. Set it if a rule of the module has a `count` other than `all` and the app has
   * GraphQL fields, WebSocket messages or message patterns; HTTP routes do not need it. For the message patterns of a hybrid app,
   * Nest needs `inheritAppConfig: true`, as for an APP_GUARD. Default false.
   */
  readonly interceptor?: boolean;
}

// The enforcer is exported because Nest creates the guard and the interceptor in modules of the app, and both inject the enforcer.
const EXPORTS = [RateLimitService, RateLimitGuard, RateLimitInterceptor, RateLimitEnforcer];

/** Returns the providers that do not need a ScriptRegistry. */
function commonProviders(interceptor: boolean): Provider[] {
  return [
    {
      provide: RateLimitService,
      inject: [ResilientLimiter, RATE_LIMIT_OPTIONS],
      useFactory: (limiter: ResilientLimiter, { rules }: ResolvedRateLimitOptions) =>
        new RateLimitService(limiter, rules),
    },
    {
      provide: RateLimitEnforcer,
      inject: [RateLimitService, RATE_LIMIT_OPTIONS],
      useFactory: (service: RateLimitService, options: ResolvedRateLimitOptions) =>
        new RateLimitEnforcer(service, options),
    },
    {
      provide: RateLimitExplorer,
      inject: [
        DiscoveryService,
        MetadataScanner,
        ModulesContainer,
        RateLimitEnforcer,
        ApplicationConfig,
        RateLimitGuard,
        HttpAdapterHost,
      ],
      useFactory: (
        discovery: DiscoveryService,
        scanner: MetadataScanner,
        modules: ModulesContainer,
        { plans }: RateLimitEnforcer,
        config: ApplicationConfig,
        guard: unknown,
        host: HttpAdapterHost,
      ) => {
        const guarded = () => new GuardedRoutes(config, guard);
        return new RateLimitExplorer(discovery, scanner, modules, plans, guarded, interceptor, host);
      },
    },
    RateLimitGuard,
    RateLimitInterceptor,
    ...(interceptor ? [{ provide: APP_INTERCEPTOR, useExisting: RateLimitInterceptor }] : []),
  ];
}

const RateLimitModuleBase = defineLuanestModule<
  RateLimitModuleOptions,
  RateLimitModuleExtras,
  ResolvedRateLimitOptions
>({
  name: 'RateLimitModule',
  optionsToken: RATE_LIMIT_OPTIONS,
  extras: { interceptor: false },
  resolve: (options) => resolveOptions(options),
  once: () => RateLimitService,
  parts: ({ registry, interceptor }, token) => ({
    imports: [DiscoveryModule, ScriptRegistryModule.forFeature(rateLimitScripts, registry)],
    providers: [
      {
        provide: ResilientLimiter,
        inject: [neededRegistry(registry), token],
        useFactory: (scripts: NeededRegistry<ScriptRegistry>, options: ResolvedRateLimitOptions) =>
          new ResilientLimiter(new RedisLimiter(scripts.registry), options),
      },
      ...commonProviders(interceptor === true),
    ],
    exports: EXPORTS,
  }),
});

/**
 * Provides RateLimitService, RateLimitGuard and RateLimitInterceptor, and checks the rules of all routes at boot. Every option
 * has a default.
 */
@Module({})
export class RateLimitModule extends RateLimitModuleBase {}
