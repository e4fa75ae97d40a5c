import type { ExecutionContext } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { Checks } from '../../../internal/src';
import { IDEMPOTENT } from './idempotency.metadata';
import { resolveRoute, type IdempotencyRouteOptions, type ResolvedRouteOptions } from './idempotency.options';

/** Settings of a route handler. `decorated` is true if the handler or its controller has `@Idempotent()`. */
interface HandlerSettings {
  readonly settings: ResolvedRouteOptions;
  readonly decorated: boolean;
}

/** Settings of all routes, each computed at the first request of its route. */
export class RouteSettings {
  /** Settings by controller and handler. Two controllers that inherit a handler may have different settings. */
  private readonly routes = new Map<object, Map<object, HandlerSettings>>();

  /** @param module defaults of all routes */
  constructor(
    private readonly reflector: Reflector,
    private readonly module: ResolvedRouteOptions,
  ) {}

  /** Returns the settings for a request; undefined if the interceptor does not apply to the request. */
  of(context: ExecutionContext, method: string): ResolvedRouteOptions | undefined {
    const [handler, controller] = [context.getHandler(), context.getClass()];
    let routes = this.routes.get(controller);
    if (routes === undefined) {
      routes = new Map<object, HandlerSettings>();
      this.routes.set(controller, routes);
    }
    let route = routes.get(handler);
    if (route === undefined) {
      const targets = [handler, controller];
      const given = this.reflector.getAllAndOverride<IdempotencyRouteOptions | undefined>(IDEMPOTENT, targets);
      const settings = resolveRoute(given ?? {}, this.module, new Checks('@Idempotent'));
      route = { settings, decorated: given !== undefined };
      routes.set(handler, route);
    }
    return route.decorated || method === 'POST' || method === 'PATCH' ? route.settings : undefined;
  }
}
