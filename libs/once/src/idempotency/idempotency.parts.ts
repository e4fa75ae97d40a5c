import { InvalidOptionError } from '../../../internal/src';
import type { ResolvedOnceModuleOptions } from '../once.options';
import { Runs } from '../runs/runs';
import { optionsOfMock, type ResolvedIdempotencyOptions } from './idempotency.options';

/** Parts that IdempotencyInterceptor needs besides OnceService: Nest makes it in modules of the app, which inject this class. */
export class IdempotencyParts {
  constructor(
    private readonly options: Pick<ResolvedOnceModuleOptions, 'idempotency'>,
    readonly runs: Runs,
    /** True in an app without OnceModule, such as a unit test. */
    readonly withoutModule = false,
  ) {}

  /** Options of idempotent routes. @throws InvalidOptionError if the module has no option `idempotency` */
  get settings(): ResolvedIdempotencyOptions {
    if (this.options.idempotency) return this.options.idempotency;
    throw new InvalidOptionError(
      '@Idempotent and IdempotencyInterceptor need a function that returns the id of the user who sent a request. ' +
        'Set OnceModule.forRoot({ idempotency: { subject: (request) => ... } }).',
    );
  }

  /** Returns the parts that OnceModule provides; without OnceModule, the parts for a mock of OnceService. */
  static of(provided: unknown): IdempotencyParts {
    if (provided instanceof IdempotencyParts) return provided;
    return new IdempotencyParts({ idempotency: optionsOfMock() }, new Runs({ drainMs: 0, abortGraceMs: 0 }), true);
  }
}
