import { SetMetadata, UseInterceptors } from '@nestjs/common';
import { checkRouteOptions, type IdempotencyRouteOptions } from './idempotency.options';
import { classOrMethodDecorator } from '../../../internal/src';
import { IdempotencyInterceptor } from './idempotency.interceptor';
import { IDEMPOTENT } from './idempotency.explorer';

/**
 * Makes a route, or all routes of a controller, idempotent: a repeat of a request, which has the same `Idempotency-Key`, gets
 * the stored response of the first request, and the handler does not run again.
 *
 * The app does not boot if a decorated method is not an HTTP route, or if OnceModule has no option `idempotency`.
 *
 * @throws InvalidOptionError for an unknown option or an invalid value, and for a decorated member that is not a method
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export function Idempotent(options: IdempotencyRouteOptions = {}): MethodDecorator & ClassDecorator {
  return classOrMethodDecorator('@Idempotent', ({ checks, apply }) => {
    checkRouteOptions(options, checks);
    apply(SetMetadata(IDEMPOTENT, options));
    apply(UseInterceptors(IdempotencyInterceptor));
  });
}
