import { Injectable } from '@nestjs/common';
import { RedPacketService, type ActivityStatus, type AuditReport } from 'luanest/red-packet';
import type { LedgerTotals } from '../../ledger/ledger.types';
import { LedgerReader } from '../../ledger/ledger-reader';

/** Books of one rain in Redis and in the ledger. */
export interface Books {
  readonly status: ActivityStatus;
  /** Counters of each bucket, each read at one instant. */
  readonly audit: AuditReport;
  /** Undefined if no known process has the ledger. */
  readonly ledger: LedgerTotals | undefined;
}

/** Reads the books of a rain. The ledger is read from the process that has it. */
@Injectable()
export class BooksService {
  constructor(
    private readonly packets: RedPacketService,
    private readonly ledger: LedgerReader,
  ) {}

  /** Reads the books of a rain. Returns undefined for one that Redis does not know or no longer knows. */
  async read(activityId: string): Promise<Books | undefined> {
    let status = await this.packets.status(activityId);
    while (status !== undefined) {
      const key = status.activityKey;
      // The ledger first: later payouts can only make it smaller than the grants in Redis.
      const ledger = await this.ledger.totals(key).catch(() => undefined);
      const [now, audit] = await Promise.all([this.packets.status(activityId), this.packets.audit(activityId)]);
      if (now === undefined || audit === undefined) return undefined;
      if (now.activityKey === key) return { status: now, audit, ledger };
      // The id is used again: the ledger was read for the previous life of the id.
      status = now;
    }
    return undefined;
  }
}

/** Returns what does not add up, in words; empty if every cent is accounted for. Payouts in flight are not faults. */
export function faultsOf({ status, audit, ledger }: Books): string[] {
  const faults: string[] = [...audit.problems];
  const check = (holds: boolean, fault: string): unknown => holds || faults.push(fault);
  // "Remaining" includes packets that move between buckets. The pool of a draft is not full yet.
  if (status.state !== 'draft') {
    const cents = status.remainingCents + status.grantedCents + status.refundedCents;
    const packets = status.remainingPackets + status.grantedPackets + status.refundedPackets;
    check(cents === status.totalCents, `left, granted and refunded are ${cents} cents of ${status.totalCents}`);
    check(packets === status.packets, `left, granted and refunded are ${packets} packets of ${status.packets}`);
  }
  if (ledger !== undefined) {
    check(ledger.conflicts === 0, `${ledger.conflicts} payouts contradict each other`);
    const { fundedCents, refundedCents } = ledger;
    const funded = fundedCents ?? status.totalCents;
    check(funded === status.totalCents, `the ledger was funded with ${funded} cents of ${status.totalCents}`);
    check(refundedCents <= status.refundedCents, `${refundedCents} cents booked of ${status.refundedCents} refunded`);
    check(
      ledger.cents + refundedCents <= funded,
      `${ledger.cents + refundedCents} cents paid and refunded of ${funded}`,
    );
    check(ledger.rows === ledger.users, `${ledger.rows} payouts to ${ledger.users} users`);
    check(ledger.cents <= status.grantedCents, `${ledger.cents} cents paid of ${status.grantedCents} granted`);
    const settled = status.outboxLength === 0 && ledger.rows === status.grantedPackets;
    check(
      !settled || ledger.cents === status.grantedCents,
      `${ledger.cents} cents paid of ${status.grantedCents} granted, and nothing is open`,
    );
  }
  return faults;
}
