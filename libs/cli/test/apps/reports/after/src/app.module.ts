import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { ScheduledLockModule } from 'luanest/scheduled-lock';
import { CleanupService } from './cleanup.service';
import { ReportsService } from './reports.service';

@Module({
  imports: [
    ScriptRegistryModule.forRoot({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    ScheduledLockModule.forRoot({ namespace: 'reports' }),
    ScheduleModule.forRoot(),
  ],
  providers: [ReportsService, CleanupService],
})
export class AppModule {}
