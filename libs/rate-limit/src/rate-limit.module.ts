import { Module, type Provider } from '@nestjs/common';
import {
  APP_INTERCEPTOR,
  ApplicationConfig,
  DiscoveryModule,
  DiscoveryService,
  MetadataScanner,
  ModulesContainer,
} from '@nestjs/core';
import { getScriptRegistryToken, ScriptRegistryModule, type ScriptRegistry } from 'luanest/script-registry';
import { defineLuanestModule } from '../../internal/src';
import { RedisLimiter } from './limiter/redis-limiter';
import { RateLimitEnforcer } from './rate-limit.enforcer';
import { RateLimitExplorer } from './rate-limit.explorer';
import { RateLimitGuard } from './rate-limit.guard';
import { RateLimitInterceptor } from './rate-limit.interceptor';
import { resolveOptions, type RateLimitModuleOptions, type ResolvedRateLimitOptions } from './rate-limit.options';
import { rateLimitScripts } from './rate-limit.scripts';
import { RateLimitService } from './rate-limit.service';
import { RATE_LIMIT_EDGE, RATE_LIMIT_OPTIONS } from './rate-limit.tokens';
import { GuardedRoutes } from './rules/guarded-routes';

/** Settings that must be known before the options are: they shape the module itself. */
export interface RateLimitModuleExtras {
  /** Whether every module of the app can inject the service without an import. Default true. */
  readonly isGlobal?: boolean;
  /** Name of the ScriptRegistry to run on. Default: the default one. */
  readonly registry?: string;
  /**
   * Puts RateLimitInterceptor on every handler. Rules of the module that count by outcome need it for GraphQL, WebSocket and
   * messages, not for HTTP. Default false.
   */
  readonly interceptor?: boolean;
}

/** What every module of the lib gives its app. */
export const EXPORTS = [RateLimitService, RateLimitGuard, RateLimitInterceptor, RATE_LIMIT_OPTIONS, RATE_LIMIT_EDGE];

/** Everything between a request and the service. */
export function edgeProviders(interceptor: boolean): Provider[] {
  return [
    {
      provide: RATE_LIMIT_EDGE,
      inject: [RateLimitService, RATE_LIMIT_OPTIONS],
      useFactory: (service: RateLimitService, options: ResolvedRateLimitOptions) => new RateLimitEnforcer(service, options),
    },
    {
      provide: RateLimitExplorer,
      inject: [DiscoveryService, MetadataScanner, ModulesContainer, RATE_LIMIT_EDGE, ApplicationConfig, RateLimitGuard],
      useFactory: (
        discovery: DiscoveryService,
        scanner: MetadataScanner,
        modules: ModulesContainer,
        edge: RateLimitEnforcer,
        config: ApplicationConfig,
        guard: unknown,
      ) =>
        new RateLimitExplorer(discovery, scanner, modules, edge, () => new GuardedRoutes(config, guard), interceptor),
    },
    RateLimitGuard,
    RateLimitInterceptor,
    ...(interceptor ? [{ provide: APP_INTERCEPTOR, useExisting: RateLimitInterceptor }] : []),
  ];
}

const RateLimitModuleBase = defineLuanestModule<RateLimitModuleOptions, RateLimitModuleExtras, ResolvedRateLimitOptions>({
  name: 'RateLimitModule',
  optionsToken: RATE_LIMIT_OPTIONS,
  extras: { interceptor: false },
  resolve: (options) => resolveOptions(options),
  once: () => RateLimitService,
  parts: ({ registry, interceptor }, token) => ({
    imports: [DiscoveryModule, ScriptRegistryModule.forFeature(rateLimitScripts, registry)],
    providers: [
      {
        provide: RateLimitService,
        inject: [getScriptRegistryToken(registry), token],
        useFactory: (scripts: ScriptRegistry, options: ResolvedRateLimitOptions) =>
          new RateLimitService(new RedisLimiter(scripts, options.tags), options),
      },
      ...edgeProviders(interceptor === true),
    ],
    exports: EXPORTS,
  }),
});

/** RateLimitService, RateLimitGuard and the rules of all routes. Every option has a default. */
@Module({})
export class RateLimitModule extends RateLimitModuleBase {}
