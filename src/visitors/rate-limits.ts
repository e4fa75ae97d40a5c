import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitRule } from 'luanest/rate-limit';
import { RedPacketController } from 'luanest/red-packet';
import type { AdminToken } from './identity/admin.guard';
import { GuestsController } from './identity/guests.controller';
import type { GuestTokens } from './identity/guest-tokens';

/** More than a person can tap, and enough for a client that sends a hundred taps at once. Refuses scripts only. */
const TAPS = 150;
const TAPS_WINDOW_MS = 10_000;

/** Limit of the taps of one guest. Skips all routes but grabs, because the guard applies each rule of the module. */
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
 * Limit of new guests of one address in a minute. Without it, one client could win every packet as new guests. Simulated
 * crowds and the operator send a token and are not counted. The default subject of a rule is the address; an IPv6 network
 * counts as one client.
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

/** Subject of a rule: the guest, else the address, so that requests without a token are counted too. */
function guestOrAddress(tokens: GuestTokens): (context: ExecutionContext) => string | undefined {
  return (context) => {
    const request = context.switchToHttp().getRequest<{ readonly ip?: string }>();
    return tokens.userOf(request) ?? request.ip;
  };
}
