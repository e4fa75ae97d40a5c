import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { RateLimitEnforcer } from './rate-limit.enforcer';

/**
 * Allows or refuses a request by the rules of its route: those of the module, of the class and of the method.
 *
 * Works for HTTP on Express and Fastify, GraphQL, WebSocket gateways and microservices. A guard that is applied to a route
 * twice counts once.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(@Inject(RateLimitEnforcer) private readonly enforcer: RateLimitEnforcer) {}

  /** Returns true, or rejects with the refusal: for HTTP a RateLimitException. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.enforcer.admit(context);
  }
}
