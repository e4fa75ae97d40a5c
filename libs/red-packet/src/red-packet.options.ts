import type { CanActivate, Type } from '@nestjs/common';
import { InvalidOptionError } from 'luanest/script-registry';

/** Tells who sends a request; undefined for nobody known, who may not grab. */
export type IdentityResolver = (request: unknown) => string | undefined | Promise<string | undefined>;

/** Options of RedPacketModule. */
export interface RedPacketOptions {
  /** Resolves the user of a request, from a session or a signed token. The body is never asked. No default. */
  readonly identity: IdentityResolver;
  /** Guards the admin routes: an instance, or a class that Nest can build. Default none: they answer 403. */
  readonly adminGuard?: CanActivate | Type<CanActivate>;
  /** How long Redis keeps an activity after its creation, ms; integer of 60,000 to 10 years. Default 7 days. */
  readonly retentionMs?: number;
}

/** Options with every default filled in. */
export interface ResolvedRedPacketOptions {
  readonly identity: IdentityResolver;
  readonly adminGuard: CanActivate | Type<CanActivate> | undefined;
  readonly retentionMs: number;
}

const DAY_MS = 86_400_000;
const MIN_RETENTION_MS = 60_000;
const MAX_RETENTION_MS = 3_650 * DAY_MS;

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveOptions(options: RedPacketOptions): ResolvedRedPacketOptions {
  const { identity, adminGuard, retentionMs = 7 * DAY_MS } = options;
  if (typeof identity !== 'function') {
    throw new InvalidOptionError(
      `identity is ${String(identity)}. Give a function from the request to the user's id or undefined.`,
    );
  }
  if (adminGuard !== undefined && typeof adminGuard !== 'function' && typeof adminGuard?.canActivate !== 'function') {
    throw new InvalidOptionError(
      'adminGuard is no guard. Give a class or an object with canActivate(), or leave it out to close the admin routes.',
    );
  }
  if (!Number.isSafeInteger(retentionMs) || retentionMs < MIN_RETENTION_MS || retentionMs > MAX_RETENTION_MS) {
    throw new InvalidOptionError(
      `retentionMs is ${retentionMs}. Give an integer of ${MIN_RETENTION_MS} to ${MAX_RETENTION_MS} ms.`,
    );
  }
  return Object.freeze({ identity, adminGuard, retentionMs });
}
