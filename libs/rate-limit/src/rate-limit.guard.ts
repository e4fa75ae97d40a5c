import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { RateLimitEnforcer } from './rate-limit.enforcer';
import { RATE_LIMIT_EDGE } from './rate-limit.tokens';

/**
 * Lets a call pass, or refuses it, by the rules of its route: those of the module, of the class and of the method.
 *
 * Works for HTTP on Express and Fastify, GraphQL, WebSocket gateways and microservices; on a route twice, it counts once.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(@Inject(RATE_LIMIT_EDGE) private readonly edge: RateLimitEnforcer) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.edge.admit(context);
  }
}
