import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { OnceRun } from '../once.types';

/** Key of the property of a request that has its run. */
const RUN = Symbol('luanest:once-run');
type WithRun = object & { [RUN]?: OnceRun };

/** Stores the run of a request, for `@CurrentOnceRun()`. */
export function keepRun(request: WithRun, run: OnceRun): void {
  request[RUN] = run;
}

/**
 * Injects the run of an idempotent request into a parameter of its handler: `@CurrentOnceRun() run: OnceRun`.
 *
 * The run is undefined if the route is not idempotent; with `required: false`, for a request without a key; and for everything
 * that is not an HTTP request. A handler of messages with `@Once()` gets its run from `OnceService.current()`.
 */
export const CurrentOnceRun: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): OnceRun | undefined =>
    context.getType() === 'http' ? context.switchToHttp().getRequest<WithRun>()[RUN] : undefined,
);
