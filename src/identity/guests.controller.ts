import { Controller, Post } from '@nestjs/common';
import { type Guest, GuestTokens } from './guest-tokens';

/** Makes guests: the app has no accounts, a token is all that a user needs. */
@Controller('guests')
export class GuestsController {
  constructor(private readonly tokens: GuestTokens) {}

  /** A new guest with its token. */
  @Post()
  create(): Guest {
    return this.tokens.issue();
  }
}
