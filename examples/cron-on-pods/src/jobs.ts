import { setTimeout } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';

const PAGES = 12;
const PAGE_MS = 500;

@Injectable()
export class Jobs {
  private readonly logger = new Logger(Jobs.name);

  constructor(private readonly locks: ScheduledLockService) {}

  /** Runs on one pod for each tick. */
  @ScheduledLock({ name: 'report' })
  @Cron(process.env.REPORT_CRON ?? '*/5 * * * * *', { timeZone: 'UTC' })
  report(): void {
    this.logger.log(`Report of ${this.slot()}`);
  }

  /**
   * Takes six seconds. The lease of two seconds is renewed while it runs. If its pod dies, the lease ends, and another pod runs the
   * tick from the beginning, up to a minute after the tick.
   */
  @ScheduledLock({ name: 'export', leaseMs: 2_000, catchUpWithinMs: 60_000 })
  @Cron(process.env.EXPORT_CRON ?? '0 * * * * *', { timeZone: 'UTC' })
  async export(): Promise<void> {
    const slot = this.slot();
    const signal = this.locks.current()?.signal;
    this.logger.log(`Export of ${slot} begins`);
    for (let page = 1; page <= PAGES; page++) {
      // The signal fires if the lease is lost, because another pod may run the export then.
      await setTimeout(PAGE_MS, undefined, { signal });
      this.logger.log(`Export of ${slot}: page ${page} of ${PAGES}`);
    }
    this.logger.log(`Export of ${slot} is done`);
  }

  private slot(): string {
    return new Date(this.locks.current()?.slot ?? 0).toISOString();
  }
}
