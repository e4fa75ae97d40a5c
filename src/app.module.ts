import { ClusterModule, RedisModule } from '@liaoliaots/nestjs-redis';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import type { RedisSource } from './platform/redis-source';
import { RefusalFilter } from './platform/refusal.filter';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { ConsoleModule } from 'luanest/console';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { LockModule } from 'luanest/lock';
import { OnceModule } from 'luanest/once';
import { RateLimitModule } from 'luanest/rate-limit';
import { ReadRewardModule } from 'luanest/read-reward';
import { RedPacketModule } from 'luanest/red-packet';
import { ScheduledLockModule } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule } from 'luanest/stream-consumer';
import type { AppConfig } from './platform/config/config';
import { configModule } from './platform/config/load-config';
import { CrowdController } from './simulation/crowd/crowd.controller';
import { CrowdService } from './simulation/crowd/crowd.service';
import { CrowdTasks } from './simulation/crowd/crowd.tasks';
import { HealthController } from './monitoring/health.controller';
import { AdminGuard, AdminToken } from './visitors/identity/admin.guard';
import { ConsoleGuard, operatorOf } from './visitors/identity/console.guard';
import { GuestTokens } from './visitors/identity/guest-tokens';
import { IdentityModule } from './visitors/identity/identity.module';
import { GuestsController } from './visitors/identity/guests.controller';
import type { Secrets } from './visitors/identity/secrets';
import { BooksKeeper } from './ledger/books-keeper';
import { LedgerController } from './ledger/ledger.controller';
import { LedgerHost } from './ledger/ledger-host';
import { guestRule, tapRule } from './visitors/rate-limits';
import { AccountsService } from './monitoring/audit/accounts.service';
import { AuditJob } from './monitoring/audit/audit.job';
import { BooksService } from './monitoring/audit/books.service';
import { CountRecords, countScripts } from './monitoring/audit/count-records';
import { CountService } from './monitoring/audit/count.service';
import { LedgerReader } from './ledger/ledger-reader';
import { LiveController } from './monitoring/live/live.controller';
import { LiveService } from './monitoring/live/live.service';
import { RainsService } from './visitors/rains/rains.service';
import { AppAddress } from './monitoring/nodes/app-address';
import { GrabMeter } from './monitoring/nodes/grab-meter';
import { NodeService } from './monitoring/nodes/node.service';
import { NodeReports, nodeScripts } from './monitoring/nodes/node-reports';
import { PagesController } from './visitors/pages/pages.controller';
import { RedisClock } from './platform/redis-clock';
import { PayoutService } from './ledger/payout/payout.service';
import { JOIN_RULE, joinRule } from './visitors/points/join.rule';
import { PointsController } from './visitors/points/points.controller';
import { LibCounts } from './monitoring/figures/lib-counts';
import { PayoutFiguresService } from './monitoring/figures/payout-figures';

/** Parts that the app is wired to. Redis and the host of the ledger are started already. */
interface AppParts {
  readonly config: AppConfig;
  readonly secrets: Secrets;
  readonly redis: RedisSource;
  readonly host: LedgerHost;
}

/** The red-packet app: grabs from the lib, guests, payouts into the ledger, and pages that show what the libs do. */
@Module({})
export class AppModule {
  static forRoot({ config, secrets, redis, host }: AppParts): DynamicModule {
    const tokens = new GuestTokens(secrets.guestSecret);
    const adminToken = new AdminToken(secrets.adminToken);
    return {
      module: AppModule,
      imports: [
        configModule(config),
        'nodes' in redis ? ClusterModule.forRoot({ config: redis }) : RedisModule.forRoot({ config: redis }),
        ScriptRegistryModule.forRoot({ preload: 'required' }),
        ScriptRegistryModule.forFeature([...nodeScripts, ...countScripts]),
        ScheduleModule.forRoot(),
        IdentityModule.forRoot(tokens, adminToken),
        ...libModules(config, tokens, adminToken),
      ],
      controllers: [
        GuestsController,
        LedgerController,
        HealthController,
        PagesController,
        LiveController,
        CrowdController,
        PointsController,
      ],
      providers: [
        { provide: LedgerHost, useValue: host },
        PayoutService,
        { provide: APP_FILTER, useClass: RefusalFilter },
        ...nodeProviders,
        ...liveProviders,
        CrowdService,
        CrowdTasks,
      ],
    };
  }
}

/** Reports of this process to the other processes. */
const nodeProviders: Provider[] = [
  GrabMeter,
  { provide: APP_INTERCEPTOR, useExisting: GrabMeter },
  LibCounts,
  PayoutFiguresService,
  AppAddress,
  RedisClock,
  NodeReports,
  NodeService,
];

/** Views and checks of rains. */
const liveProviders: Provider[] = [
  LedgerReader,
  BooksKeeper,
  BooksService,
  AccountsService,
  CountRecords,
  CountService,
  AuditJob,
  RainsService,
  LiveService,
];

function libModules(config: AppConfig, tokens: GuestTokens, adminToken: AdminToken): DynamicModule[] {
  return [
    RateLimitModule.forRoot({
      rules: [tapRule(tokens), guestRule(config.guestsPerMinute, tokens, adminToken)],
      // A call that takes longer is counted in this process instead of in Redis, so that a guesser could try twice as often.
      deadlineMs: 1_000,
    }),
    OnceModule.forRoot({
      idempotency: {
        subject: (request) => (adminToken.isOf(request) ? 'operator' : tokens.userOf(request as object)),
        // The key is optional, because a repeated request to an admin route is harmless. So curl needs no key.
        required: false,
      },
    }),
    ReadRewardModule.forRoot({ rules: { [JOIN_RULE]: joinRule } }),
    LockModule.forRoot({}),
    ScheduledLockModule.forRoot({ namespace: 'rain' }),
    StreamConsumerModule.forRoot({}),
    DelayedTaskModule.forRoot({ namespace: 'rain' }),
    RedPacketModule.forRoot({
      identity: (request) => tokens.userOf(request as object),
      adminGuard: AdminGuard,
      // The first digits of a random id.
      participantName: (userId) => userId.slice(0, 4),
      ...(config.retentionMs !== undefined && { retentionMs: config.retentionMs }),
    }),
    ConsoleModule.forRoot({
      guard: ConsoleGuard,
      actor: (request) => operatorOf(request, adminToken),
      readOnly: false,
    }),
  ];
}
