import { Controller, Get, Param, Query, ServiceUnavailableException, UseGuards } from '@nestjs/common';
import { AdminGuard } from '../visitors/identity/admin.guard';
import { LedgerHost } from './ledger-host';
import type { LedgerTotals, PaidPage, ReadableLedger, WrongAccount, WrongAccountsPage } from './ledger.types';

const PAGE = 1_000;

/** Totals of one activity key, as the admin route returns them. */
export interface LedgerAnswer extends LedgerTotals {
  readonly activityKey: string;
}

/** Routes that read the ledger, for admins. */
@Controller('ledger')
@UseGuards(AdminGuard)
export class LedgerController {
  constructor(private readonly host: LedgerHost) {}

  /** Reads the wrong accounts as `ReadableLedger.wrongAccounts`. No activity key is `accounts`: each has an `@`. */
  @Get('accounts')
  async accounts(): Promise<readonly WrongAccount[]> {
    return (await this.ledger()).wrongAccounts();
  }

  /** Reads the totals of an activity key. @throws {ServiceUnavailableException} if this process does not have the ledger */
  @Get(':activityKey')
  async totals(@Param('activityKey') activityKey: string): Promise<LedgerAnswer> {
    return { activityKey, ...(await (await this.ledger()).totals(activityKey)) };
  }

  /** Reads a page of payouts; query `after`: `next` of the previous page. @throws {ServiceUnavailableException} as `totals` */
  @Get(':activityKey/payouts')
  async payouts(@Param('activityKey') activityKey: string, @Query('after') after?: string): Promise<PaidPage> {
    return (await this.ledger()).payouts(activityKey, after ?? '', PAGE);
  }

  /** Checks the accounts of the users of a page of payouts; query `after` as `payouts`. */
  @Get(':activityKey/accounts')
  async accountsOf(
    @Param('activityKey') activityKey: string,
    @Query('after') after?: string,
  ): Promise<WrongAccountsPage> {
    return (await this.ledger()).wrongAccountsOf(activityKey, after ?? '', PAGE);
  }

  private async ledger(): Promise<ReadableLedger> {
    const ledger = this.host.current();
    if (ledger !== undefined) return ledger;
    const problem = await this.host.problem();
    throw new ServiceUnavailableException({ statusCode: 503, error: 'Service Unavailable', ...problem });
  }
}
