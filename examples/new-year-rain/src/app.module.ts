import { ForbiddenException, Module, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { RedPacketModule } from 'luanest/red-packet';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule } from 'luanest/stream-consumer';
import { LedgerController } from './ledger.controller.js';
import { Ledger } from './ledger.js';
import { Payer } from './payer.js';

/** Your login knows who sends a request. Here a header says it. */
const userOf = (request: unknown): string | undefined =>
  (request as { headers: Record<string, string | undefined> }).headers['x-user'];

class BossGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (userOf(context.switchToHttp().getRequest()) === 'boss') return true;
    throw new ForbiddenException('Only the boss makes rains');
  }
}

@Module({ providers: [Ledger], exports: [Ledger] })
class LedgerModule {}

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    StreamConsumerModule.forRoot({}), // delivers the payouts
    DelayedTaskModule.forRoot(), // closes a rain when it ends
    LedgerModule,
    RedPacketModule.forRootAsync({
      imports: [LedgerModule],
      inject: [Ledger],
      useFactory: (ledger: Ledger) => ({
        identity: userOf,
        adminGuard: BossGuard,
        onClosed: ({ activityId, refundedCents }) => ledger.giveBack(activityId, refundedCents),
      }),
    }),
  ],
  providers: [Payer],
  controllers: [LedgerController],
})
export class AppModule {}
