import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { LockBusyError } from 'luanest/lock';
import { RedPacketService } from 'luanest/red-packet';
import { ScheduledLock } from 'luanest/scheduled-lock';
import { type Books, BooksService, faultsOf } from './books.service';
import { CountService } from './count.service';

/** Name of the job in the locks and in the operator's view. */
export const AUDIT_JOB = 'rain-audit';

/** Rains that are larger are counted when an operator asks for it. */
const MOST_PACKETS = 100_000;
const COUNT_AGAIN_MS = 4_000;
const MOST_TOLD = 1_000;
/** Rains that are read at the same time. */
const AT_ONCE = 8;

/** Audits every rain, every two seconds, on one process, and counts the records of the newest one while it is at rest. */
@Injectable()
export class AuditJob {
  private readonly logger = new Logger(AuditJob.name);
  private readonly told = new Set<string>();
  /** How the newest rain stood at this process' last look. */
  private seen = '';

  constructor(
    private readonly packets: RedPacketService,
    private readonly books: BooksService,
    private readonly counts: CountService,
  ) {}

  /** Logs each fault once. */
  @ScheduledLock({ name: AUDIT_JOB })
  @Interval(2_000)
  async audit(): Promise<void> {
    const newest = await this.readAll();
    if (newest !== undefined) await this.count(newest);
  }

  /**
   * Checks the books of every rain, several at a time, since each takes a few round trips to Redis and the ledger. Returns
   * those of the newest.
   *
   * @throws the first error of a rain that could not be read, after all others were checked
   */
  async readAll(): Promise<Books | undefined> {
    const left = await this.packets.activities();
    const errors: unknown[] = [];
    let newest: Books | undefined;
    const readSome = async (): Promise<void> => {
      for (let activityId = left.pop(); activityId !== undefined; activityId = left.pop()) {
        const books = await this.books.read(activityId).catch((error: unknown) => void errors.push(error));
        if (!books) continue;
        for (const fault of faultsOf(books)) this.tell(activityId, fault);
        if (books.status.createdAtMs >= (newest?.status.createdAtMs ?? 0)) newest = books;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, readSome));
    if (errors.length > 0) throw errors[0];
    return newest;
  }

  private async count({ status, ledger }: Books): Promise<void> {
    const now = JSON.stringify([status, ledger]);
    const atRest = now === this.seen;
    this.seen = now;
    if (!atRest || status.state === 'draft' || status.packets > MOST_PACKETS) return;
    const last = await this.counts.last(status);
    if (last !== undefined && Date.now() - last.atMs < COUNT_AGAIN_MS) return;
    try {
      const record = await this.counts.count(status.activityId, 0);
      for (const problem of record?.problems ?? []) this.tell(status.activityId, problem);
    } catch (error) {
      // Others count, by an operator's wish, or the ledger moves to another process: there is a next time.
      if (!(error instanceof LockBusyError)) this.logger.warn(`The records were not counted: ${String(error)}`);
    }
  }

  private tell(activityId: string, fault: string): void {
    const line = `${activityId}: ${fault}`;
    if (this.told.has(line)) return;
    if (this.told.size >= MOST_TOLD) this.told.clear();
    this.told.add(line);
    this.logger.error(line);
  }
}
