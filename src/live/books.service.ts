import { Injectable } from '@nestjs/common';
import { RedPacketService, type ActivityStatus } from 'luanest/red-packet';
import { AdminToken } from '../identity/admin.guard';
import { LedgerHost } from '../ledger/ledger-host';
import type { LedgerTotals } from '../ledger/ledger.types';

/** What Redis and the ledger say of one rain. */
export interface Books {
  readonly status: ActivityStatus;
  /** Undefined where no process that is known has the ledger. */
  readonly ledger: LedgerTotals | undefined;
}

/** Reads the books of a rain, the ledger from the process that has it. */
@Injectable()
export class BooksService {
  constructor(
    private readonly packets: RedPacketService,
    private readonly host: LedgerHost,
    private readonly admin: AdminToken,
  ) {}

  /** Undefined for a rain that Redis does not know, or no longer. */
  async read(activityId: string): Promise<Books | undefined> {
    // The ledger first: whatever is paid later only makes it smaller than what Redis says was granted.
    const ledger = await this.ledger(activityId).catch(() => undefined);
    const status = await this.packets.status(activityId);
    return status && { status, ledger };
  }

  private async ledger(activityId: string): Promise<LedgerTotals | undefined> {
    const own = this.host.current();
    if (own !== undefined) return own.totals(activityId);
    const owner = (await this.host.problem())?.ownerUrl;
    // No URL can name these two: they would ask, with the token, for another route.
    if (owner === undefined || activityId === '.' || activityId === '..') return undefined;
    const answer = await fetch(`${owner}/ledger/${encodeURIComponent(activityId)}`, {
      headers: { authorization: `Bearer ${this.admin.value}` },
      signal: AbortSignal.timeout(2_000),
    });
    return answer.ok ? ((await answer.json()) as LedgerTotals) : undefined;
  }
}

/** What does not add up; empty when every cent is where it should be. Payouts that are under way are no fault. */
export function faultsOf({ status, ledger }: Books): string[] {
  const faults: string[] = [];
  const check = (holds: boolean, fault: string): unknown => holds || faults.push(fault);
  if (status.state !== 'draft') {
    const cents = status.remainingCents + status.grantedCents;
    const packets = status.remainingPackets + status.grantedPackets;
    check(cents === status.totalCents, `left and granted are ${cents} cents of ${status.totalCents}`);
    check(packets === status.packets, `left and granted are ${packets} packets of ${status.packets}`);
  }
  if (ledger !== undefined) {
    check(ledger.conflicts === 0, `${ledger.conflicts} payouts contradict one another`);
    check(ledger.rows === ledger.users, `${ledger.rows} payouts to ${ledger.users} users`);
    check(ledger.cents <= status.grantedCents, `${ledger.cents} cents paid of ${status.grantedCents} granted`);
    const settled = status.outboxLength === 0 && ledger.rows === status.grantedPackets;
    check(!settled || ledger.cents === status.grantedCents, `${ledger.cents} cents paid in the end`);
  }
  return faults;
}
