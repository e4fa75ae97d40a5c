import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import { bearerToken } from './bearer';

/** The admin token, as a provider for guards and for requests to other processes. */
export class AdminToken {
  private readonly expected: Buffer;

  constructor(readonly value: string) {
    this.expected = digest(value);
  }

  isOf(request: unknown): boolean {
    const given = bearerToken(request);
    // Digests have one length, so the comparison does not reveal the length of the token.
    return given !== undefined && timingSafeEqual(digest(given), this.expected);
  }
}

/** Guard that allows requests with the admin token only. */
@Injectable()
export class AdminGuard implements CanActivate {
  constructor(private readonly token: AdminToken) {}

  /** @throws {UnauthorizedException} if the request has no token or another one */
  canActivate(context: ExecutionContext): boolean {
    if (this.token.isOf(context.switchToHttp().getRequest())) return true;
    throw new UnauthorizedException('This route needs the admin token in "Authorization: Bearer …".');
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
