import { Injectable } from '@nestjs/common';
import { RedPacketService, type ActivityStatus, type AuditResult } from 'luanest/red-packet';
import type { LedgerTotals } from '../../ledger/ledger.types';
import { LedgerReader } from '../../ledger/ledger-reader';

/** How long the ledger's view `luanest.books` may lack what Redis has, ms; then it is a fault. The ledger is written every 2 s. */
const MOST_LATE_MS = 30_000;
const MOST_LATE_RAINS = 10_000;

/** Books of one rain in Redis and in the ledger. */
export interface Books {
  readonly status: ActivityStatus;
  /** Counters of each bucket, each read at one instant. */
  readonly audit: AuditResult;
  /** Undefined if the ledger could not be read. */
  readonly ledger: LedgerTotals | undefined;
  /** How long this process has seen that the ledger lacks the rain's funding or a refund, ms; otherwise 0. */
  readonly unbookedMs: number;
}

/** A funding or a refund that the ledger lacks. */
interface Unbooked {
  readonly sinceMs: number;
  /** Refund that Redis had at that time, cents. */
  readonly refundedCents: number;
}

/** Reads the books of a rain. The ledger is read from the process that has it. */
@Injectable()
export class BooksService {
  /** Fundings and refunds that the ledger lacks, by activity key. */
  private readonly unbooked = new Map<string, Unbooked>();
  /** Monotonic clock, ms. Tests replace it. */
  now = (): number => performance.now();

  constructor(
    private readonly packets: RedPacketService,
    private readonly ledger: LedgerReader,
  ) {}

  /** Reads the books of a rain. Returns undefined if Redis does not know the rain, or has forgotten it. */
  async read(activityId: string): Promise<Books | undefined> {
    let status = await this.packets.status(activityId);
    while (status !== undefined) {
      const key = status.activityKey;
      // The ledger is read first, so what is granted, paid or refunded in between only makes the ledger smaller than Redis.
      const ledger = await this.ledger.totals(key).catch(() => undefined);
      const [now, audit] = await Promise.all([this.packets.status(activityId), this.packets.audit(activityId)]);
      if (now === undefined || audit === undefined) return undefined;
      if (now.activityKey === key) return { status: now, audit, ledger, unbookedMs: this.unbookedMs(now, ledger) };
      // The id is used again, and the ledger was read for the earlier rain with this id: read all again.
      status = now;
    }
    return undefined;
  }

  private unbookedMs({ activityKey, state, refundedCents }: ActivityStatus, ledger: LedgerTotals | undefined): number {
    const booked = ledger?.book?.refundedCents ?? -1;
    const known = this.unbooked.get(activityKey);
    // A draft is not in the ledger yet, and an unavailable ledger cannot be written.
    if (ledger === undefined || state === 'draft' || booked >= refundedCents) this.unbooked.delete(activityKey);
    else if (known !== undefined && booked < known.refundedCents) return this.now() - known.sinceMs;
    else {
      if (this.unbooked.size >= MOST_LATE_RAINS) this.unbooked.clear();
      this.unbooked.set(activityKey, { sinceMs: this.now(), refundedCents });
    }
    return 0;
  }
}

/** Returns what does not add up, in words. Payouts in flight are not faults. Without the ledger, checks Redis only. */
export function faultsOf({ status, audit, ledger, unbookedMs }: Books): string[] {
  const faults = [...audit.problems];
  const check = (holds: boolean, fault: string): unknown => holds || faults.push(fault);
  // `remaining` includes packets that move between buckets. The pool of a draft may not be full yet.
  if (status.state !== 'draft') {
    const cents = status.remainingCents + status.grantedCents + status.refundedCents;
    const packets = status.remainingPackets + status.grantedPackets + status.refundedPackets;
    check(
      cents === status.totalCents,
      `the cents left, granted and refunded add up to ${cents} of ${status.totalCents}`,
    );
    check(
      packets === status.packets,
      `the packets left, granted and refunded add up to ${packets} of ${status.packets}`,
    );
  }
  if (ledger === undefined) return faults;
  const { rows, users, cents, conflicts, book } = ledger;
  check(conflicts === 0, `the ledger refused ${conflicts} payouts that contradict paid ones`);
  check(rows === users, `the ledger has ${rows} payouts to ${users} users`);
  check(cents <= status.grantedCents, `the ledger paid ${cents} cents, but ${status.grantedCents} are granted`);
  const settled = status.openPayouts === 0 && rows === status.grantedPackets;
  check(
    !settled || cents === status.grantedCents,
    `the ledger paid ${cents} cents of ${status.grantedCents} granted, and no payout is in flight`,
  );
  if (book !== null) {
    const spent = book.paidCents + book.refundedCents;
    check(
      book.fundedCents === status.totalCents,
      `luanest.books has a funding of ${book.fundedCents} cents instead of ${status.totalCents}`,
    );
    check(book.paidCents === cents, `luanest.books has ${book.paidCents} cents paid, but its payouts have ${cents}`);
    check(
      book.refundedCents <= status.refundedCents,
      `luanest.books has ${book.refundedCents} cents refunded, but Redis has ${status.refundedCents}`,
    );
    check(book.owedCents >= 0, `luanest.books has ${spent} cents paid and refunded of ${book.fundedCents} funded`);
  }
  check(
    unbookedMs <= MOST_LATE_MS,
    book === null
      ? `luanest.books has had no entry for over ${MOST_LATE_MS / 1_000} s`
      : `luanest.books has lacked a refund for over ${MOST_LATE_MS / 1_000} s`,
  );
  return faults;
}
