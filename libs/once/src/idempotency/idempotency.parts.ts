import type { Reflector } from '@nestjs/core';
import { InvalidOptionError } from '../../../internal/src';
import type { ResolvedOnceModuleOptions } from '../once.options';
import type { Runs } from '../runs/runs';
import type { ResolvedIdempotencyOptions } from './idempotency.options';
import { RouteSettings } from './route-settings';

/**
 * Objects that IdempotencyInterceptor needs in addition to OnceService. Nest creates the interceptor inside modules of the app, which can
 * inject this class.
 */
export class IdempotencyParts {
  constructor(
    private readonly options: Pick<ResolvedOnceModuleOptions, 'idempotency'>,
    readonly runs: Runs,
  ) {}

  /**
   * Returns the option `idempotency` of the module, with the defaults filled in.
   *
   * @throws InvalidOptionError if the module has no option `idempotency`
   */
  get settings(): ResolvedIdempotencyOptions {
    if (this.options.idempotency) return this.options.idempotency;
    throw new InvalidOptionError(
      '@Idempotent and IdempotencyInterceptor need a function that returns the id of the user who sent a request. ' +
        'Set OnceModule.forRoot({ idempotency: { subject: (request) => ... } }).',
    );
  }

  routes(reflector: Reflector): Pick<RouteSettings, 'of'> {
    return new RouteSettings(reflector, this.settings);
  }
}
