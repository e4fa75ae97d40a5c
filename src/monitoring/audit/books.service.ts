import { Injectable } from '@nestjs/common';
import { RedPacketService, type ActivityStatus, type AuditReport } from 'luanest/red-packet';
import type { LedgerTotals } from '../../ledger/ledger.types';
import { LedgerReader } from '../../ledger/ledger-reader';

/** What Redis and the ledger say of one rain. */
export interface Books {
  readonly status: ActivityStatus;
  /** Each bucket's books at one instant. */
  readonly audit: AuditReport;
  /** Undefined where no process that is known has the ledger. */
  readonly ledger: LedgerTotals | undefined;
}

/** Reads the books of a rain, the ledger from the process that has it. */
@Injectable()
export class BooksService {
  constructor(
    private readonly packets: RedPacketService,
    private readonly ledger: LedgerReader,
  ) {}

  /** Undefined for a rain that Redis does not know, or no longer. */
  async read(activityId: string): Promise<Books | undefined> {
    let status = await this.packets.status(activityId);
    while (status !== undefined) {
      const key = status.activityKey;
      // The ledger first: whatever is paid later only makes it smaller than what Redis says was granted.
      const ledger = await this.ledger.totals(key).catch(() => undefined);
      const [now, audit] = await Promise.all([this.packets.status(activityId), this.packets.audit(activityId)]);
      if (now === undefined || audit === undefined) return undefined;
      if (now.activityKey === key) return { status: now, audit, ledger };
      // The id is being used again: the ledger was asked about the life before.
      status = now;
    }
    return undefined;
  }
}

/** What does not add up; empty when every cent is where it should be. Payouts that are under way are no fault. */
export function faultsOf({ status, audit, ledger }: Books): string[] {
  const faults: string[] = [...audit.problems];
  const check = (holds: boolean, fault: string): unknown => holds || faults.push(fault);
  // What is left counts what is moving between buckets. A pool that is being filled holds less than it will.
  if (status.state !== 'draft') {
    const cents = status.remainingCents + status.grantedCents + status.refundedCents;
    const packets = status.remainingPackets + status.grantedPackets + status.refundedPackets;
    check(cents === status.totalCents, `left, granted and refunded are ${cents} cents of ${status.totalCents}`);
    check(packets === status.packets, `left, granted and refunded are ${packets} packets of ${status.packets}`);
  }
  if (ledger !== undefined) {
    check(ledger.conflicts === 0, `${ledger.conflicts} payouts contradict one another`);
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
    check(!settled || ledger.cents === status.grantedCents, `${ledger.cents} cents paid in the end`);
  }
  return faults;
}
