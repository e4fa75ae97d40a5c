import { SetMetadata, UseInterceptors } from '@nestjs/common';
import { checkRouteOptions, type IdempotencyRouteOptions } from './idempotency.options';
import { classOrMethodDecorator } from '../../../internal/src';
import { IdempotencyInterceptor } from './idempotency.interceptor';
import { IDEMPOTENT } from './idempotency.explorer';

/**
 * Makes a route, or all routes of a controller, idempotent by the request's `Idempotency-Key`.
 *
 * The app does not boot if it is on a method that is not a route, or if OnceModule has no option `idempotency`.
 *
 * @throws InvalidOptionError for an option that does not exist or has an invalid value, and on a member that is not a method
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export function Idempotent(options: IdempotencyRouteOptions = {}): MethodDecorator & ClassDecorator {
  return classOrMethodDecorator('@Idempotent', ({ checks, apply }) => {
    checkRouteOptions(options, checks);
    apply(SetMetadata(IDEMPOTENT, options));
    apply(UseInterceptors(IdempotencyInterceptor));
  });
}
