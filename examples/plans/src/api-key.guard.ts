import { Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { accountOf, requestOf } from './accounts.js';

/** Refuses unknown keys. A request without a key is anonymous. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    if (request.headers['x-api-key'] !== undefined && accountOf(request) === undefined) {
      throw new UnauthorizedException('Unknown API key');
    }
    return true;
  }
}
