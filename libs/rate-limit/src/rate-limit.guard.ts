import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { InjectService, InvalidOptionError, missingService } from '../../internal/src';
import { RateLimitEnforcer } from './rate-limit.enforcer';
import { RateLimitService } from './rate-limit.service';

const MISSING = { where: 'RateLimitGuard', service: 'RateLimitService', method: 'consume', module: 'RateLimitModule' };

/**
 * Allows or refuses a request by the rules of its route: the rules of the module, of the class and of the method.
 *
 * The guard works for HTTP on Express and Fastify, GraphQL, WebSocket gateways and microservices. If the guard is applied to
 * a route twice, each request is counted once.
 *
 * If a rule applies to a request, the guard calls `RateLimitService.consume`, so a mock of the service decides in its place. The
 * subject of a check is the empty text if the request has no client or user. Without the service, or with a mock that has no
 * `consume`, a request fails, unless the process has imported `luanest/testing`: then it is allowed.
 *
 * An app's own guard that extends this one may have a constructor of its own, whose first parameter is RateLimitService.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  // Not TypeScript's `private`, so that an app's own guard may have a field of this name.
  readonly #enforcer: () => RateLimitEnforcer | undefined;

  constructor(@InjectService(RateLimitService) service: RateLimitService | undefined) {
    this.#enforcer = RateLimitEnforcer.finder(this, service);
  }

  /**
   * Decides a request.
   *
   * @returns true if the request is allowed; false (over HTTP, Nest then replies 403) if a rule that is not a shadow rule finds no
   * client or user to count and `onUnknownSubject` is `deny`
   * @throws the error of the refusal: RateLimitException, for WebSocket messages WsException, for message patterns RpcException, or
   * the error of the app's own adapter; InvalidInputError if a function of a rule returned an invalid value;
   * InvalidOptionError without RateLimitService; what a function of a rule, of the option `responses` or of an adapter throws
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const enforcer = this.#enforcer();
    return enforcer === undefined ? plain() : enforcer.admit(context);
  }
}

RateLimitEnforcer.injectInto(RateLimitGuard);

/** Allows a request of a test without RateLimitService. @throws InvalidOptionError unless luanest/testing allows it */
function plain(): true {
  const problem = missingService(MISSING);
  if (problem !== undefined) throw new InvalidOptionError(problem);
  return true;
}
