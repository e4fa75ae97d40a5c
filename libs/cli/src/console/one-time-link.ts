import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';

const COOKIE = 'luanest-console';

/**
 * Lets in one browser: the one that opens the printed link first. The link works once. It sets a cookie, which no other site and no
 * script of the page can use.
 */
export class OneTimeLink implements CanActivate {
  private token: string | undefined = secret();
  private readonly session = secret();

  /** Query string of the link. */
  get query(): string {
    return `?token=${this.token}`;
  }

  /** Middleware: replaces the token of the link by the cookie. */
  readonly exchange = (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const given = searchParams.get('token');
    if (given === null) return next();
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Referrer-Policy', 'no-referrer');
    if (this.token === undefined || !areSame(given, this.token)) {
      response.setHeader('Content-Type', 'text/plain; charset=utf-8');
      response.statusCode = 403;
      response.end(
        'This link was used already, or is wrong. A link works once. Start luanest console again to get a new link.',
      );
      return;
    }
    this.token = undefined;
    response.setHeader('Set-Cookie', `${COOKIE}=${this.session}; HttpOnly; SameSite=Strict; Path=/`);
    response.setHeader('Location', pathname);
    response.statusCode = 302;
    response.end();
  };

  /** @throws UnauthorizedException without the cookie */
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
    const cookies = (headers.cookie ?? '').split(';').map((one) => one.trim().split('=', 2));
    const isKnown = cookies.some(([name, value = '']) => name === COOKIE && areSame(value, this.session));
    if (isKnown) return true;
    throw new UnauthorizedException('Open the link that the command luanest console has printed.');
  }
}

function secret(): string {
  return randomBytes(24).toString('base64url');
}

function areSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
