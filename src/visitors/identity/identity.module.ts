import { type DynamicModule, Module } from '@nestjs/common';
import { AdminToken } from './admin.guard';
import { GuestTokens } from './guest-tokens';

/** Provides the tokens to all modules, because the guards of the libs' routes need them, too. */
@Module({})
export class IdentityModule {
  static forRoot(tokens: GuestTokens, adminToken: AdminToken): DynamicModule {
    const providers = [
      { provide: GuestTokens, useValue: tokens },
      { provide: AdminToken, useValue: adminToken },
    ];
    return { module: IdentityModule, global: true, providers, exports: providers };
  }
}
