import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { RateLimitEnforcer } from './rate-limit.enforcer';

/**
 * Allows or refuses a request by the rules of its route: the rules of the module, of the class and of the method.
 *
 * The guard works for HTTP on Express and Fastify, GraphQL, WebSocket gateways and microservices. If the guard is applied to
 * a route twice, each request is counted once.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(@Inject(RateLimitEnforcer) private readonly enforcer: RateLimitEnforcer) {}

  /**
   * Decides a request.
   *
   * @returns true if the request is allowed; false (over HTTP, Nest then replies 403) if a rule that is not a shadow rule finds no
   * client or user to count and `onUnknownSubject` is `deny`
   * @throws the error of the refusal: RateLimitException, for WebSocket messages WsException, for message patterns RpcException, or
   * the error of the app's own adapter; InvalidRateLimitInputError if a function of a rule returned an invalid value; what such a
   * function throws
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.enforcer.admit(context);
  }
}
