import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { tap, type Observable } from 'rxjs';
import type { RateLimitEdge } from './rate-limit.edge';
import { RATE_LIMIT_EDGE } from './rate-limit.tokens';

/**
 * Gives hits back by outcome: to rules that count failures when a call succeeds, to those that count successes when it
 * fails, which is to throw or to answer with a status of 400 or more. A call that the client gave up keeps its hits.
 *
 * `@RateLimit()` puts it where a rule needs it; for rules of the module see the module's `interceptor`.
 */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(@Inject(RATE_LIMIT_EDGE) private readonly edge: RateLimitEdge) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const decision = this.edge.takeDecision(context);
    if (decision === undefined) return next.handle();
    return next.handle().pipe(
      tap({
        error: () => void this.edge.settle(context, decision, true),
        complete: () => void this.edge.settle(context, decision, this.edge.endedBadly(context)),
      }),
    );
  }
}
