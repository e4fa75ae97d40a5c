import { ClusterModule, RedisModule } from '@liaoliaots/nestjs-redis';
import { type DynamicModule, Module } from '@nestjs/common';
import type { RedisSource } from './redis-source';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { RedPacketModule } from 'luanest/red-packet';
import { ScheduledLockModule } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule } from 'luanest/stream-consumer';
import type { AppConfig } from './config/config';
import { CrowdController } from './crowd/crowd.controller';
import { AppAddress, CrowdService } from './crowd/crowd.service';
import { HealthController } from './health.controller';
import { AdminGuard, AdminToken } from './identity/admin.guard';
import { bearerToken } from './identity/bearer';
import { GuestTokens } from './identity/guest-tokens';
import { GuestsController } from './identity/guests.controller';
import type { Secrets } from './identity/secrets';
import { LedgerController } from './ledger/ledger.controller';
import { LedgerHost } from './ledger/ledger-host';
import { AuditJob } from './live/audit.job';
import { BooksService } from './live/books.service';
import { LiveController } from './live/live.controller';
import { LiveService } from './live/live.service';
import { GrabMeter } from './nodes/grab-meter';
import { NodeService } from './nodes/node.service';
import { NodeReports, nodeScripts } from './nodes/node-reports';
import { PagesController } from './pages/pages.controller';
import { PayoutService, PayoutSettings } from './payout/payout.service';

/** What the app module is built on; all of it is running already. */
export interface AppParts {
  readonly config: AppConfig;
  readonly secrets: Secrets;
  readonly redis: RedisSource;
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
        'nodes' in redis ? ClusterModule.forRoot({ config: redis }) : RedisModule.forRoot({ config: redis }),
        ScriptRegistryModule.forRoot({ preload: 'required' }),
        ScriptRegistryModule.forFeature(nodeScripts),
        ScheduleModule.forRoot(),
        ScheduledLockModule.forRoot({ namespace: 'rain' }),
        StreamConsumerModule.forRoot({}),
        DelayedTaskModule.forRoot({ queue: 'rain' }),
        RedPacketModule.forRoot({
          identity: (request) => tokens.verify(bearerToken(request) ?? ''),
          adminGuard: new AdminGuard(adminToken),
          ...(config.retentionMs !== undefined && { retentionMs: config.retentionMs }),
        }),
      ],
      controllers: [
        GuestsController,
        LedgerController,
        HealthController,
        PagesController,
        LiveController,
        CrowdController,
      ],
      providers: [
        { provide: GuestTokens, useValue: tokens },
        { provide: AdminToken, useValue: adminToken },
        { provide: LedgerHost, useValue: host },
        { provide: PayoutSettings, useValue: new PayoutSettings(config.payoutLeaseMs) },
        PayoutService,
        GrabMeter,
        { provide: APP_INTERCEPTOR, useExisting: GrabMeter },
        NodeReports,
        NodeService,
        BooksService,
        AuditJob,
        LiveService,
        AppAddress,
        CrowdService,
      ],
    };
  }
}
