import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitRule } from 'luanest/rate-limit';
import { RedPacketController } from 'luanest/red-packet';
import type { AdminToken } from './identity/admin.guard';
import { GuestsController } from './identity/guests.controller';
import type { GuestTokens } from './identity/guest-tokens';

/** More than a thumb can do, and room for a client that sends a hundred at once: only who hammers is refused. */
const TAPS = 150;
const TAPS_WINDOW_MS = 10_000;

/** How often one guest may tap. It stands before grabs only; the guard knows all rules of the module. */
export function tapRule(tokens: GuestTokens): RateLimitRule {
  return {
    name: 'taps',
    limit: TAPS,
    windowMs: TAPS_WINDOW_MS,
    subject: guestOrAddress(tokens),
    skip: (context) => context.getHandler() !== RedPacketController.prototype.grab,
  };
}

/**
 * How many guests one address may make in a minute. Without it, one client would take every packet under new names.
 * Simulated crowds are the operator's: they show a token and are not counted. The rate limit's own subject is the
 * address, with a whole network of IPv6 as one client.
 */
export function guestRule(limit: number, tokens: GuestTokens, admin: AdminToken): RateLimitRule {
  return {
    name: 'guests',
    limit,
    windowMs: 60_000,
    skip: (context) => {
      if (context.getHandler() !== GuestsController.prototype.create) return true;
      const request: unknown = context.switchToHttp().getRequest();
      return admin.isOf(request) || tokens.isCrowd(request);
    },
  };
}

/** Who is counted: the guest, else the address, so that a request without a token is counted as well. */
function guestOrAddress(tokens: GuestTokens): (context: ExecutionContext) => string | undefined {
  return (context) => {
    const request = context.switchToHttp().getRequest<{ readonly ip?: string }>();
    return tokens.userOf(request) ?? request.ip;
  };
}
