import 'reflect-metadata';
import { RequestMethod, type Type } from '@nestjs/common';

/** A method of a controller that answers requests. */
export interface Route {
  /** `<METHOD> <path>`, without the controller's path. */
  readonly name: string;
  readonly method: RequestMethod;
  readonly path: string;
  readonly handler: object;
  readonly controller: Type<unknown>;
}

/** Returns every route of a controller as Nest finds it, also inherited ones. */
export function routesOf(controller: Type<unknown>): Route[] {
  const routes: Route[] = [];
  for (let at = controller.prototype as object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const { value } of Object.values(Object.getOwnPropertyDescriptors(at))) {
      const handler: unknown = value;
      if (typeof handler !== 'function') continue;
      const path = Reflect.getMetadata('path', handler) as string | undefined;
      const method = Reflect.getMetadata('method', handler) as RequestMethod | undefined;
      // The property `constructor` is the class itself, which has a path and no method.
      if (path === undefined || method === undefined) continue;
      const plain = path.replace(/^\/+/, '');
      routes.push({ name: `${RequestMethod[method]} ${plain}`.trim(), method, path: plain, handler, controller });
    }
  }
  return routes;
}

/** Returns the guards of a route, those of its controller first. */
export function guardsOf({ controller, handler }: Route): unknown[] {
  const of = (target: object): unknown[] => (Reflect.getMetadata('__guards__', target) as unknown[] | undefined) ?? [];
  return [...of(controller), ...of(handler)];
}
