import { Controller, Get } from '@nestjs/common';
import { LedgerHost } from '../ledger/ledger-host';

/** Whether this process serves, and who has the ledger. */
interface Health {
  readonly status: 'ok';
  readonly pid: number;
  /** Whether this process pays out and answers the ledger route. */
  readonly ledger: boolean;
  /** Where the process that does so in its place serves, if that is known. */
  readonly ledgerUrl?: string;
}

/** Tells a load balancer, or a person, that the process serves. */
@Controller('health')
export class HealthController {
  constructor(private readonly host: LedgerHost) {}

  /** Answers without asking Redis: a process that cannot reach it should not be restarted for that. */
  @Get()
  async health(): Promise<Health> {
    const problem = await this.host.problem();
    const ledgerUrl = problem?.ownerUrl;
    return {
      status: 'ok',
      pid: process.pid,
      ledger: problem === undefined,
      ...(ledgerUrl !== undefined && { ledgerUrl }),
    };
  }
}
