import { Controller, Get, Param, ServiceUnavailableException, UseGuards } from '@nestjs/common';
import { AdminGuard } from '../identity/admin.guard';
import { LedgerHost } from './ledger-host';
import type { LedgerTotals } from './ledger.types';

/** Totals of one activity as the admin route answers them. */
export interface LedgerAnswer extends LedgerTotals {
  readonly activityId: string;
}

/** The ledger over HTTP, for admins. */
@Controller('ledger')
@UseGuards(AdminGuard)
export class LedgerController {
  constructor(private readonly host: LedgerHost) {}

  /** What is booked for an activity. @throws {ServiceUnavailableException} when this process has no ledger */
  @Get(':activityId')
  async totals(@Param('activityId') activityId: string): Promise<LedgerAnswer> {
    const ledger = this.host.current();
    if (ledger !== undefined) return { activityId, ...(await ledger.totals(activityId)) };
    const problem = await this.host.problem();
    throw new ServiceUnavailableException({ statusCode: 503, error: 'Service Unavailable', ...problem });
  }
}
