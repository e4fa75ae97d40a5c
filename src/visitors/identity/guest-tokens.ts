import { JwtService } from '@nestjs/jwt';
import { randomUUID } from 'node:crypto';
import { bearerToken } from './bearer';

const DAY_MS = 86_400_000;
const CROWD_MS = 3_600_000;
/** Property of a request that caches its user, because a limit and a route both need the user. Null: no valid token. */
const USER = Symbol('luanest:app-user');

/** A guest, and the token that identifies the guest. */
export interface Guest {
  readonly userId: string;
  /** A JSON Web Token (HS256) with the user's id as its subject. */
  readonly token: string;
}

/** Subjects of the app's tokens: the id of a guest, or `crowd`. */
const SUBJECT = /^[\w-]{1,64}$/;

/** Parts of a verified token that are checked. */
interface Verified {
  readonly header: { readonly crit?: unknown };
  readonly payload: { readonly sub?: unknown; readonly exp?: number };
}

/** Purpose of a token. */
type Audience = 'guest' | 'crowd';

// See DECISIONS.md: tokens-verified-synchronously
/** Makes and checks guest tokens. No list of tokens is needed, so every process with the same secret accepts them. */
export class GuestTokens {
  private readonly jwt: JwtService;

  /**
   * @param secret key of the HMAC
   * @param lifetimeMs lifetime of a guest token, ms, counted in whole seconds; default 30 days
   * @param now clock, ms since 1970
   */
  constructor(
    secret: string,
    private readonly lifetimeMs = 30 * DAY_MS,
    private readonly now: () => number = Date.now,
  ) {
    this.jwt = new JwtService({ secret });
  }

  issue(): Guest {
    const userId = randomUUID();
    return { userId, token: this.sign(userId, 'guest', this.lifetimeMs) };
  }

  /** Makes a token with which a simulated crowd may make any number of guests for an hour. It is not valid as a guest token. */
  issueForCrowd(): string {
    return this.sign('crowd', 'crowd', CROWD_MS);
  }

  /** Returns the user of a guest token; undefined if it is not a valid guest token. */
  verify(token: string): string | undefined {
    return this.subjectOf(token, 'guest');
  }

  /** Returns true if the request carries the token of a simulated crowd. */
  isCrowd(request: unknown): boolean {
    return this.subjectOf(bearerToken(request) ?? '', 'crowd') !== undefined;
  }

  /** Returns the user of a request's bearer token; undefined without a valid one. */
  userOf(request: object): string | undefined {
    const known = request as { [USER]?: string | null };
    known[USER] ??= this.verify(bearerToken(request) ?? '') ?? null;
    return known[USER] ?? undefined;
  }

  private sign(sub: string, aud: Audience, lifetimeMs: number): string {
    const iat = Math.floor(this.now() / 1_000);
    const exp = Math.floor((this.now() + lifetimeMs) / 1_000);
    return this.jwt.sign({ sub, aud, iat, exp }, { algorithm: 'HS256' });
  }

  private subjectOf(token: string, audience: Audience): string | undefined {
    try {
      const clockTimestamp = Math.floor(this.now() / 1_000);
      // The algorithm is fixed, because a token must not choose how it is checked.
      const options = { algorithms: ['HS256' as const], audience, clockTimestamp, complete: true };
      const { header, payload } = this.jwt.verify<Verified>(token, options);
      const { sub, exp } = payload;
      // A token of the right key that the app did not make may have any subject, no expiry, or need an extension that is unknown here.
      const isOurs = typeof sub === 'string' && SUBJECT.test(sub) && exp !== undefined && header.crit === undefined;
      return isOurs ? sub : undefined;
    } catch {
      return undefined;
    }
  }
}
