import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { bearerToken } from './bearer';

const DAY_MS = 86_400_000;
/** On a request: whom it comes from, since a limit and a route both ask. */
const USER = Symbol('luanest:app-user');

/** A guest, and the token that proves it. */
export interface Guest {
  readonly userId: string;
  /** base64url of `userId.expiry`, a dot, and base64url of its HMAC-SHA256. */
  readonly token: string;
}

/** Hands out and checks guest tokens. They are self-contained: every process with the same secret accepts them. */
export class GuestTokens {
  /**
   * @param secret key of the HMAC
   * @param lifetimeMs how long a token is good for, ms; default 30 days
   * @param now clock, ms since the epoch
   */
  constructor(
    private readonly secret: string,
    private readonly lifetimeMs = 30 * DAY_MS,
    private readonly now: () => number = Date.now,
  ) {}

  /** A new guest. */
  issue(): Guest {
    const userId = randomUUID();
    const claim = Buffer.from(`${userId}.${this.now() + this.lifetimeMs}`).toString('base64url');
    return { userId, token: `${claim}.${this.sign(claim).toString('base64url')}` };
  }

  /** The user that a token stands for; undefined for a forged, damaged or expired one. */
  verify(token: string): string | undefined {
    const [claim, signature, ...rest] = token.split('.');
    if (claim === undefined || signature === undefined || rest.length > 0) return undefined;
    const expected = this.sign(claim);
    const given = Buffer.from(signature, 'base64url');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const [userId, expiry] = Buffer.from(claim, 'base64url').toString().split('.');
    return Number(expiry) > this.now() ? userId : undefined;
  }

  /** The user of a request's bearer token; undefined without a good one. */
  userOf(request: object): string | undefined {
    const known = request as { [USER]?: string | null };
    known[USER] ??= this.verify(bearerToken(request) ?? '') ?? null;
    return known[USER] ?? undefined;
  }

  private sign(claim: string): Buffer {
    return createHmac('sha256', this.secret).update(claim).digest();
  }
}
