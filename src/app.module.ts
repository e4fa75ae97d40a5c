import { RedisModule } from '@liaoliaots/nestjs-redis';
import { type DynamicModule, Module } from '@nestjs/common';
import type { RedisOptions } from 'ioredis';
import { RedPacketModule } from 'luanest/red-packet';
import { ScriptRegistryModule } from 'luanest/script-registry';
import type { AppConfig } from './config/config';
import { HealthController } from './health.controller';
import { AdminGuard, AdminToken } from './identity/admin.guard';
import { bearerToken } from './identity/bearer';
import { GuestTokens } from './identity/guest-tokens';
import { GuestsController } from './identity/guests.controller';
import type { Secrets } from './identity/secrets';
import { LedgerController } from './ledger/ledger.controller';
import { LedgerHost } from './ledger/ledger-host';
import { PayoutService, PayoutSettings } from './payout/payout.service';

/** What the app module is built on; all of it is running already. */
export interface AppParts {
  readonly config: AppConfig;
  readonly secrets: Secrets;
  /** How to reach Redis: a URL, or the embedded server's address. */
  readonly redis: RedisOptions & { readonly url?: string };
  readonly host: LedgerHost;
}

/** The red-packet app: grabs from the lib, guests, payouts into the ledger. */
@Module({})
export class AppModule {
  /** Wires the app to the parts that it runs on. */
  static forRoot({ config, secrets, redis, host }: AppParts): DynamicModule {
    const tokens = new GuestTokens(secrets.guestSecret);
    const adminToken = new AdminToken(secrets.adminToken);
    return {
      module: AppModule,
      imports: [
        // Reconnecting at least twice a second: the embedded server is back within that time.
        RedisModule.forRoot({ config: { ...redis, retryStrategy: (attempt) => Math.min(attempt * 50, 500) } }),
        ScriptRegistryModule.forRoot({ preload: 'required' }),
        RedPacketModule.forRoot({
          identity: (request) => tokens.verify(bearerToken(request) ?? ''),
          adminGuard: new AdminGuard(adminToken),
          ...(config.retentionMs !== undefined && { retentionMs: config.retentionMs }),
        }),
      ],
      controllers: [GuestsController, LedgerController, HealthController],
      providers: [
        { provide: GuestTokens, useValue: tokens },
        { provide: AdminToken, useValue: adminToken },
        { provide: LedgerHost, useValue: host },
        { provide: PayoutSettings, useValue: new PayoutSettings(config.payoutLeaseMs) },
        PayoutService,
      ],
    };
  }
}
