import { SetMetadata, UseInterceptors } from '@nestjs/common';
import { checkRouteOptions, type IdempotencyRouteOptions } from './idempotency.options';
import { classOrMethodDecorator } from '../../../internal/src';
import { IdempotencyInterceptor } from './idempotency.interceptor';
import { IDEMPOTENT } from './idempotency.metadata';

/**
 * Makes a route, or all routes of a controller, idempotent. The response of a request is stored. If a client sends the request
 * again with the same `Idempotency-Key`, it gets the stored response, and the handler does not run again. Error responses are
 * stored only with `storeErrors`.
 *
 * The app does not boot if a decorated method is not an HTTP route, or if OnceModule has no option `idempotency`.
 *
 * @throws InvalidOptionError for an unknown option or an invalid value, and for a decorated member that is not a method
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 *
 * @example
 * `@Post('orders') @Idempotent() create() { return { orderId: randomUUID() }; }`
 */
export function Idempotent(options: IdempotencyRouteOptions = {}): MethodDecorator & ClassDecorator {
  return classOrMethodDecorator('@Idempotent', ({ checks, apply }) => {
    checkRouteOptions(options, checks);
    apply(SetMetadata(IDEMPOTENT, options));
    apply(UseInterceptors(IdempotencyInterceptor));
  });
}
