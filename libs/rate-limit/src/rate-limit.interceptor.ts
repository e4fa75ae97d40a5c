import { Injectable, Optional, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { tap, type Observable } from 'rxjs';
import { provided } from '../../internal/src';
import { RateLimitEnforcer } from './rate-limit.guard';

/**
 * Refunds the hits of a call whose result should not count (option `count` of a rule). Under rules that count only failures, it
 * refunds successful calls. Under rules that count only successes, it refunds failed calls.
 *
 * The interceptor is for GraphQL fields, WebSocket messages and message patterns, which have no HTTP response of their own. For an HTTP
 * request the guard uses the status of the response, without this interceptor. If a rule of `@RateLimit()` has a `count` other than `all`,
 * `@RateLimit()` applies the interceptor. If a rule of the module has such a `count`, set `interceptor` of RateLimitModule.
 */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  private readonly enforcer: RateLimitEnforcer;

  /** @throws SetupError if the app does not import RateLimitModule */
  constructor(@Optional() enforcer?: RateLimitEnforcer) {
    this.enforcer = provided(enforcer, new.target.name, 'RateLimitModule.forRoot({})');
  }

  /** Runs the handler, and refunds the hits of the call if its result should not count. */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { enforcer } = this;
    const decision = enforcer.takeDecision(context);
    if (decision === undefined) return next.handle();
    return next.handle().pipe(
      tap({
        error: () => void enforcer.settle(context, decision, true),
        complete: () => void enforcer.settle(context, decision, false),
      }),
    );
  }
}
