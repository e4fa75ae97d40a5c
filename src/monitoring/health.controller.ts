import { Controller, Get } from '@nestjs/common';
import { LedgerHost } from '../ledger/ledger-host';

/** State of this process, and the owner of the ledger. */
interface Health {
  readonly status: 'ok';
  readonly pid: number;
  /** True if this process has the ledger: it pays out and answers the ledger routes. */
  readonly ledger: boolean;
  /** Last published base URL of a process with the ledger; missing if this process has the ledger, or if none is published. */
  readonly ledgerUrl?: string;
}

/** Health check for load balancers and people. */
@Controller('health')
export class HealthController {
  constructor(private readonly host: LedgerHost) {}

  /** Returns the state without a call to Redis, because a process must not be restarted while only Redis is unavailable. */
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
