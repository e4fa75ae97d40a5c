import { Controller, Post, UseGuards } from '@nestjs/common';
import { RateLimitGuard } from 'luanest/rate-limit';
import { type Guest, GuestTokens } from './guest-tokens';

/** Makes guests: the app has no accounts, a token is all that a user needs. */
@Controller('guests')
export class GuestsController {
  constructor(private readonly tokens: GuestTokens) {}

  /** A new guest with its token; an address may make so many a minute (GUESTS_PER_MINUTE). */
  @Post()
  @UseGuards(RateLimitGuard)
  create(): Guest {
    return this.tokens.issue();
  }
}
