import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import { type RateLimitRule, RateLimitService } from 'luanest/rate-limit';
import { refusal } from '../../platform/refusal.filter';
import { bearerToken } from './bearer';
import { networkOf } from './network-of';

interface Reply {
  header(name: string, value: string): unknown;
}

/** The admin token, as a provider for guards and for requests to other processes. */
export class AdminToken {
  private readonly expected: Buffer;

  constructor(readonly value: string) {
    this.expected = digest(value);
  }

  isOf(request: unknown): boolean {
    const given = bearerToken(request);
    return given !== undefined && this.is(given);
  }

  is(given: string): boolean {
    // Digests have one length, so the comparison does not reveal the length of the token.
    return timingSafeEqual(digest(given), this.expected);
  }
}

/** Maximum number of requests of one client with a wrong token, or without one, in a minute. Then all its requests to admin routes are refused. */
const TRIES: RateLimitRule = { name: 'sign-in', limit: 30, windowMs: 60_000 };

/** Guard that allows requests with the admin token only, and lets no client try tokens without limit. */
@Injectable()
export class AdminGuard implements CanActivate {
  constructor(
    protected readonly token: AdminToken,
    private readonly limits: RateLimitService,
  ) {}

  /**
   * @throws {UnauthorizedException} if the request has no token or another one
   * @throws {HttpException} 429 after too many such requests of the client, also for the right token: else a client could go on
   * trying until it gets a response that is not 429
   */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<{ readonly ip?: string }>();
    const right = this.isRight(request);
    const client = networkOf(request.ip ?? '');
    const { allowed, retryAfterMs } = await (right
      ? this.limits.peek(TRIES, client)
      : this.limits.consume(TRIES, client));
    if (!allowed) {
      http.getResponse<Reply>().header('retry-after', String(Math.ceil(retryAfterMs / 1_000)));
      throw refusal(429, 'TOO_MANY_SIGN_INS', 'Too many requests without the admin token. Try again in a minute.');
    }
    if (right) return true;
    throw new UnauthorizedException('This route needs the admin token in "Authorization: Bearer …".');
  }

  protected isRight(request: object): boolean {
    return this.token.isOf(request);
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
