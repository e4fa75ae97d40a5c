import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitRule } from 'luanest/rate-limit';
import { RedPacketController } from 'luanest/red-packet';
import type { AdminToken } from './identity/admin.guard';
import { GuestsController } from './identity/guests.controller';
import type { GuestTokens } from './identity/guest-tokens';

/** Maximum number of taps of one guest in a window. The limit is for scripts: hardly any person taps this often. */
const TAPS = 150;
const TAPS_WINDOW_MS = 10_000;

/** Limit of the grabs of one guest. It skips other routes, because each rule of the module applies to each guarded route. */
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
 * Limit of new guests of one client address in a minute. Without this limit, one client could win every packet as many guests.
 * Simulated crowds and the operator send a token and are not counted. The rule has no `subject`, so it counts by address; an
 * IPv6 network counts as one address.
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

/** Returns the subject of a request, which is what a rule counts by: the guest; without a valid token, the address. */
function guestOrAddress(tokens: GuestTokens): (context: ExecutionContext) => string | undefined {
  return (context) => {
    const request = context.switchToHttp().getRequest<{ readonly ip?: string }>();
    return tokens.userOf(request) ?? request.ip;
  };
}
