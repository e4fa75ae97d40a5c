import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import { bearerToken } from './bearer';

/** The admin token as a thing that Nest can inject. */
export class AdminToken {
  /** @param value the token itself */
  constructor(readonly value: string) {}
}

/** Lets through who presents the admin token. */
@Injectable()
export class AdminGuard implements CanActivate {
  private readonly expected: Buffer;

  constructor(token: AdminToken) {
    this.expected = digest(token.value);
  }

  /** @throws {UnauthorizedException} when the request carries no token or another one */
  canActivate(context: ExecutionContext): boolean {
    const given = bearerToken(context.switchToHttp().getRequest());
    // Digests have one length, so that the comparison tells nothing about that of the token.
    if (given !== undefined && timingSafeEqual(digest(given), this.expected)) return true;
    throw new UnauthorizedException('This route needs the admin token in "Authorization: Bearer …".');
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
