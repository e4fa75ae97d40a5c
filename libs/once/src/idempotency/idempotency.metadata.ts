import { InvalidOptionError } from '../../../internal/src';

export const IDEMPOTENT = 'luanest:idempotent';
/** Metadata key of Nest's route decorators, such as `@Post()`. */
const ROUTE_PATH = 'path';

export function notHttp(where: string): InvalidOptionError {
  return new InvalidOptionError(
    `@Idempotent on ${where}: The method is not an HTTP route, so its calls have no header with a key. Use @Once() for message handlers.`,
  );
}

/** Refuses `@Idempotent()` on a method that is not an HTTP route, where it would have no effect. @throws InvalidOptionError */
export function refuseUnlessRoute(method: object, where: string): void {
  if (Reflect.hasMetadata(IDEMPOTENT, method) && !Reflect.hasMetadata(ROUTE_PATH, method)) throw notHttp(where);
}
