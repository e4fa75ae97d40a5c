import { Controller, Post, UseGuards } from '@nestjs/common';
import { RateLimitGuard } from 'luanest/rate-limit';
import { type Guest, GuestTokens } from './guest-tokens';

/** Makes guests. The app has no accounts, so a token is all that a user needs. */
@Controller('guests')
export class GuestsController {
  constructor(private readonly tokens: GuestTokens) {}

  /** Makes a guest with a token. The limit is in `guestRule`. */
  @Post()
  @UseGuards(RateLimitGuard)
  create(): Guest {
    return this.tokens.issue();
  }
}
