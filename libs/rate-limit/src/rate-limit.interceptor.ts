import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { tap, type Observable } from 'rxjs';
import { RateLimitEnforcer } from './rate-limit.enforcer';

/**
 * Refunds hits by the outcome of a handler: to rules that count failures if it succeeds, to rules that count successes if it
 * throws. It is for calls without an HTTP response of their own (GraphQL, WebSocket, messages). The outcome of an HTTP
 * request is the status of its response.
 *
 * `@RateLimit()` applies it to handlers whose rules need it; for rules of the module see the module's `interceptor`.
 */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(@Inject(RateLimitEnforcer) private readonly enforcer: RateLimitEnforcer) {}

  /** Runs the handler and settles its decision when it completes or throws. */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const decision = this.enforcer.takeDecision(context);
    if (decision === undefined) return next.handle();
    return next.handle().pipe(
      tap({
        error: () => void this.enforcer.settle(context, decision, true),
        complete: () => void this.enforcer.settle(context, decision, false),
      }),
    );
  }
}
