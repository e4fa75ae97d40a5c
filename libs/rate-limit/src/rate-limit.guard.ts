import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { RateLimitEnforcer } from './rate-limit.enforcer';

/**
 * Allows or refuses a request by the rules of its route: the rules of the module, of the class and of the method.
 *
 * The guard works for HTTP on Express and Fastify, GraphQL, WebSocket gateways and microservices. If the guard is applied to
 * a route twice, each request is counted once.
 *
 * An app's own guard that extends this one has no constructor of its own, and injects what it needs into properties.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(private readonly enforcer: RateLimitEnforcer) {}

  /**
   * Decides a request.
   *
   * @returns true if the request is allowed; false (over HTTP, Nest then replies 403) if a rule that is not a shadow rule finds no
   * client or user to count and `onUnknownSubject` is `deny`
   * @throws the error of the refusal: RateLimitException, for WebSocket messages WsException, for message patterns RpcException, or
   * the error of the app's own adapter; InvalidInputError if a function of a rule returned an invalid value; what a function of
   * a rule, of the option `responses` or of an adapter throws
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.enforcer.admit(context);
  }
}
