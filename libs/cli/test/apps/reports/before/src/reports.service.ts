import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression, SchedulerRegistry } from '@nestjs/schedule';

@Injectable()
export class ReportsService {
  private readonly logger = new Logger(ReportsService.name);
  built = 0;

  constructor(private readonly schedulerRegistry: SchedulerRegistry) {}

  // Every second, so that somebody sees it.
  @Cron(CronExpression.EVERY_SECOND, { name: 'report' })
  async build(): Promise<void> {
    this.built += 1;
    this.logger.debug('built');
  }

  @Cron('0 3 * * *', {
    name: 'archive',
    timeZone: 'Europe/Berlin',
  })
  archive(): void {
    this.logger.log('archived');
  }

  jobs(): string[] {
    return [...this.schedulerRegistry.getCronJobs().keys()];
  }
}
