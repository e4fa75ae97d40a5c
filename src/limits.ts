import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitRule } from 'luanest/rate-limit';
import { RedPacketController } from 'luanest/red-packet';
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

/** Who is counted: the guest, else the address, so that a request without a token is counted as well. */
function guestOrAddress(tokens: GuestTokens): (context: ExecutionContext) => string | undefined {
  return (context) => {
    const request = context.switchToHttp().getRequest<{ readonly ip?: string }>();
    return tokens.userOf(request) ?? request.ip;
  };
}
