import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { tap, type Observable } from 'rxjs';
import type { RateLimitEnforcer } from './rate-limit.enforcer';
import { RATE_LIMIT_EDGE } from './rate-limit.tokens';

/**
 * Gives hits back by the outcome of a handler: to rules that count failures when it succeeds, to those that count successes
 * when it throws. For calls without an HTTP response of their own (GraphQL, WebSocket, messages); the outcome of an HTTP
 * request is its response.
 *
 * `@RateLimit()` puts it where a rule needs it; for rules of the module see the module's `interceptor`.
 */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(@Inject(RATE_LIMIT_EDGE) private readonly edge: RateLimitEnforcer) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const decision = this.edge.takeDecision(context);
    if (decision === undefined) return next.handle();
    return next.handle().pipe(
      tap({
        error: () => void this.edge.settle(context, decision, true),
        complete: () => void this.edge.settle(context, decision, false),
      }),
    );
  }
}
