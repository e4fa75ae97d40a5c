import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ScheduledLockModule } from 'luanest/scheduled-lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { Jobs } from './jobs.js';
import { JobsController } from './jobs.controller.js';

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    ScheduledLockModule.forRoot({ namespace: 'cron-on-pods' }),
    ScheduleModule.forRoot(),
  ],
  providers: [Jobs],
  controllers: [JobsController],
})
export class AppModule {}
