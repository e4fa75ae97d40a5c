import { Module } from '@nestjs/common';
import { DelayedTaskModule } from 'luanest/delayed-task';
import { OnceModule } from 'luanest/once';
import { OutboxModule } from 'luanest/outbox';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule } from 'luanest/stream-consumer';
import { Database } from './database.js';
import { Mailer } from './mailer.js';
import { OrdersController } from './orders.controller.js';

@Module({ providers: [Database], exports: [Database] })
class DatabaseModule {}

/** Your login knows who sends a request. Here a header says it. */
const userOf = (request: unknown): string | undefined =>
  (request as { headers: Record<string, string | undefined> }).headers['x-user'];

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    OnceModule.forRoot({ idempotency: { subject: userOf } }),
    DelayedTaskModule.forRoot(),
    StreamConsumerModule.forRoot({}),
    DatabaseModule,
    OutboxModule.forRootAsync({
      imports: [DatabaseModule],
      inject: [Database],
      useFactory: (database: Database) => ({ database }),
    }),
  ],
  providers: [Mailer],
  controllers: [OrdersController],
})
export class AppModule {}
