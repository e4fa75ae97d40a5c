import { Logger, type OnModuleInit, type Type } from '@nestjs/common';
import type {
  AbstractHttpAdapter,
  DiscoveryService,
  HttpAdapterHost,
  MetadataScanner,
  ModulesContainer,
} from '@nestjs/core';
import { methodOf } from '../../internal/src';
import { keepAddresses, type HttpServer } from './contexts/http';
import { BootChecks } from './rules/boot-checks';
import type { GuardedRoutes } from './rules/guarded-routes';
import { metadata, type Handler } from './rules/route-names';
import { RULES_METADATA, SKIP_METADATA, type RoutePlans } from './rules/route-rules';

interface Wrapper {
  readonly metatype: unknown;
  readonly host?: { readonly metatype?: unknown };
}

/** Checks the rules of all controllers and providers at boot. An invalid rule stops the boot. */
export class RateLimitExplorer implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly modules: ModulesContainer,
    private readonly plans: RoutePlans,
    private readonly guarded: () => GuardedRoutes,
    private readonly interceptor: boolean,
    private readonly host: HttpAdapterHost,
  ) {}

  /**
   * Checks all controllers and providers. Also makes Node remember the client address of each connection, for clients that hang up early.
   *
   * @throws InvalidOptionError that names the class or the method
   */
  onModuleInit(): void {
    const { plans } = this;
    // A microservice, or an app without a server, has no HTTP adapter.
    const adapter = this.host.httpAdapter as AbstractHttpAdapter | undefined;
    keepAddresses(adapter?.getHttpServer() as HttpServer | undefined);
    const controllers: Wrapper[] = this.discovery.getControllers();
    for (const { metatype, host } of controllers) {
      if (typeof metatype === 'function') plans.addModulePath(metatype as Type<unknown>, this.pathOf(host?.metatype));
    }
    const checks = new BootChecks(plans, this.guarded(), this.interceptor);
    const wrappers: Wrapper[] = [...controllers, ...this.discovery.getProviders()];
    const useless: string[] = [];
    const targets = new Set(wrappers.map(({ metatype }) => metatype));
    for (const metatype of targets) {
      if (typeof metatype !== 'function') continue;
      const target = metatype as Type<unknown>;
      const handlers = this.handlersOf(target);
      const methods = handlers
        .filter(hasDeclarations(target))
        .map((handler) => ({ handler, declared: plans.declarations(target, handler) }));
      if (methods.length > 0) checks.check({ target, methods });
      for (const handler of handlers) checks.checkOutcomes(target, handler);
      useless.push(...checks.uselessGuards(target, handlers));
    }
    if (useless.length > 0) warnOfGuards(useless);
  }

  private handlersOf(target: Type<unknown>): Handler[] {
    const prototype = target.prototype as object | undefined;
    const names = prototype ? this.scanner.getAllMethodNames(prototype) : [];
    return names.flatMap((name) => methodOf(prototype as object, name) ?? []);
  }

  /** Returns the path that RouterModule gives a module; '' if it has no path. */
  private pathOf(module: unknown): string {
    if (typeof module !== 'function') return '';
    const target = module as Type<unknown>;
    const path = metadata<string>(`__module_path__${this.modules.applicationId}`, target);
    return path ?? metadata<string>('__module_path__', target) ?? '';
  }
}

/** @param places classes and methods that have RateLimitGuard, but no rule */
function warnOfGuards(places: readonly string[]): void {
  const shown = places.slice(0, 3).join(', ');
  const more = places.length > 3 ? ` and ${places.length - 3} more` : '';
  new Logger('RateLimit').warn(
    `RateLimitGuard limits nothing on ${shown}${more}, because no rule applies there. Add @RateLimit({ limit, windowMs }) to the class or ` +
      'the method, or rules to RateLimitModule.forRoot(). Or remove the guard.',
  );
}

/** Returns a function that tests if `@RateLimit()` or `@SkipRateLimit()` decorates a method or its class. */
function hasDeclarations(target: Type<unknown>): (handler: Handler) => boolean {
  const has = (on: Handler | Type<unknown>): boolean =>
    Reflect.hasMetadata(RULES_METADATA, on) || Reflect.hasMetadata(SKIP_METADATA, on);
  const ofClass = has(target);
  return (handler) => ofClass || has(handler);
}
