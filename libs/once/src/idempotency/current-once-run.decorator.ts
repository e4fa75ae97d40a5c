import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { OnceRun } from '../once.types';

/** Property under which a request has its run. A run is the execution of the handler under a claim. */
const RUN = Symbol('luanest:once-run');
type WithRun = object & { [RUN]?: OnceRun };

/** Stores the run of a request for `@CurrentOnceRun()`. */
export function keepRun(request: WithRun, run: OnceRun): void {
  request[RUN] = run;
}

/**
 * Injects the run of an idempotent request into a parameter of its handler: `@CurrentOnceRun() run: OnceRun`.
 *
 * The parameter is undefined if the route is not idempotent, or if the request has no key (with `required: false`). It is also undefined in
 * handlers that do not serve HTTP. A message handler with `@Once()` gets its run from `OnceService.current()` instead.
 */
export const CurrentOnceRun: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): OnceRun | undefined =>
    context.getType() === 'http' ? context.switchToHttp().getRequest<WithRun>()[RUN] : undefined,
);
