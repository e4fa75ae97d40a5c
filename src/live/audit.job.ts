import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { RedPacketService } from 'luanest/red-packet';
import { ScheduledLock } from 'luanest/scheduled-lock';
import { BooksService, faultsOf } from './books.service';

/** Name of the job in the locks and in the operator's view. */
export const AUDIT_JOB = 'rain-audit';

/** Audits every rain, every two seconds, on one process. */
@Injectable()
export class AuditJob {
  private readonly logger = new Logger(AuditJob.name);
  private readonly told = new Set<string>();

  constructor(
    private readonly packets: RedPacketService,
    private readonly books: BooksService,
  ) {}

  /** Logs each fault once. */
  @ScheduledLock({ name: AUDIT_JOB })
  @Interval(2_000)
  async audit(): Promise<void> {
    for (const activityId of await this.packets.activities()) {
      const books = await this.books.read(activityId);
      for (const fault of books === undefined ? [] : faultsOf(books)) {
        const line = `${activityId}: ${fault}`;
        if (this.told.has(line)) continue;
        this.told.add(line);
        this.logger.error(line);
      }
    }
  }
}
