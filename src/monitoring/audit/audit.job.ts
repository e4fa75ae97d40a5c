import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { LockBusyError } from 'luanest/lock';
import { RedPacketService } from 'luanest/red-packet';
import { ScheduledLock } from 'luanest/scheduled-lock';
import { AccountsService } from './accounts.service';
import { type Books, BooksService, faultsOf } from './books.service';
import { CountService } from './count.service';

/** Name of the job, by which other processes and the operator's page find its history. */
export const AUDIT_JOB = 'rain-audit';

/** Maximum number of packets of a rain whose records the job counts. Larger rains are counted only on request of an operator. */
const MOST_PACKETS = 100_000;
/** Least age of a rain's stored count at which the job counts the rain again, ms. */
const COUNT_AGAIN_MS = 4_000;
/** Maximum number of lines that the job remembers and does not log again. */
const MOST_LOGGED = 1_000;
/** Rains that are read at the same time. */
const AT_ONCE = 8;

/**
 * Audits all rains and the sum of all accounts about every two seconds, on one process at a time. Also counts all records of the newest rain while the rain
 * is at rest, except of a rain that is large or was just counted (see the constants).
 */
@Injectable()
export class AuditJob {
  private readonly logger = new Logger(AuditJob.name);
  private readonly logged = new Set<string>();
  /** Status and ledger totals of the newest rain at the last run in this process that read all rains and found one, as JSON. */
  private seen = '';

  constructor(
    private readonly packets: RedPacketService,
    private readonly books: BooksService,
    private readonly counts: CountService,
    private readonly accounts: AccountsService,
  ) {}

  /** Runs the audit. Does not log a fault again that this process remembers. */
  @ScheduledLock({ name: AUDIT_JOB })
  @Interval(2_000)
  async audit(): Promise<void> {
    for (const fault of await this.accounts.faults()) this.log(fault);
    const newest = await this.readAll();
    if (newest !== undefined) await this.count(newest);
  }

  /**
   * Checks the books of all rains, eight at a time, because each takes a few round trips to Redis and the ledger. Returns
   * the books of the newest rain; undefined without rains.
   *
   * @throws the first error of a rain that could not be read, after all others are checked
   */
  async readAll(): Promise<Books | undefined> {
    const left = await this.packets.activities();
    const errors: unknown[] = [];
    let newest: Books | undefined;
    const readSome = async (): Promise<void> => {
      for (let activityId = left.pop(); activityId !== undefined; activityId = left.pop()) {
        const books = await this.books.read(activityId).catch((error: unknown) => void errors.push(error));
        if (!books) continue;
        for (const fault of faultsOf(books)) this.log(`${JSON.stringify(activityId)}: ${fault}`);
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
      for (const problem of record?.problems ?? []) this.log(`${JSON.stringify(status.activityId)}: ${problem}`);
    } catch (error) {
      // Another count is in flight, for example by an operator's request. A later run tries again.
      if (error instanceof LockBusyError) return;
      this.logger.warn(
        `The count of the records of ${JSON.stringify(status.activityId)} failed. A later run may count them. ${String(error)}`,
      );
    }
  }

  private log(line: string): void {
    if (this.logged.has(line)) return;
    if (this.logged.size >= MOST_LOGGED) this.logged.clear();
    this.logged.add(line);
    this.logger.error(line);
  }
}
