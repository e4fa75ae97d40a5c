import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { CleanupService } from './cleanup.service';
import { ReportsService } from './reports.service';

@Module({
  imports: [ScheduleModule.forRoot()],
  providers: [ReportsService, CleanupService],
})
export class AppModule {}
