import { Injectable, Logger } from '@nestjs/common';
import { LedgerReader } from '../../ledger/ledger-reader';
import type { WrongAccount } from '../../ledger/ledger.types';

/** Least age of the last comparison at which the sums are compared again, ms. */
const AGAIN_MS = 2_000;
/** The same as a multiple of the time that the last comparison took. It adds up all payouts, so it takes longer as they grow. */
const AGAIN_FACTOR = 50;

/** Compares the balances of users (`luanest.accounts`) with the payouts of the ledger. */
@Injectable()
export class AccountsService {
  private readonly logger = new Logger(AccountsService.name);
  private last: Promise<readonly string[]> = Promise.resolve([]);
  /** When the sums may be compared again, by the monotonic clock, ms; Infinity during a comparison. */
  private nextMs = 0;
  private lastProblem: string | undefined;

  constructor(private readonly ledger: LedgerReader) {}

  /**
   * Compares the sums. Returns the users whose balance is wrong, in words; none if the sums are equal, if no process has the ledger,
   * or if the ledger cannot be read. Returns the last result again for 2 s, and for 50 times as long as the comparison took.
   */
  faults(): Promise<readonly string[]> {
    if (performance.now() < this.nextMs) return this.last;
    this.nextMs = Number.POSITIVE_INFINITY;
    return (this.last = this.compare());
  }

  private async compare(): Promise<readonly string[]> {
    const started = performance.now();
    try {
      const wrong = (await this.ledger.wrongAccounts()) ?? [];
      if (this.lastProblem !== undefined) this.logger.log('The accounts are compared with the payouts again.');
      this.lastProblem = undefined;
      return wrong.map(faultOf);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.lastProblem)
        this.logger.warn(`The accounts could not be compared with the payouts. A later run tries again. ${problem}`);
      this.lastProblem = problem;
      return [];
    } finally {
      const ended = performance.now();
      this.nextMs = ended + Math.max(AGAIN_MS, (ended - started) * AGAIN_FACTOR);
    }
  }

  /**
   * Compares the balance of each user whom the ledger has paid a packet of this activity key. Returns what differs, in words.
   *
   * @throws {LedgerUnavailableError} if the ledger cannot be read
   */
  async faultsOf(activityKey: string): Promise<string[]> {
    return (await this.ledger.wrongAccountsOf(activityKey)).map(faultOf);
  }
}

function faultOf({ userId, balanceCents, paidCents }: WrongAccount): string {
  const user = JSON.stringify(userId);
  return balanceCents === null
    ? `${user} has no account, but the ledger has paid them ${paidCents} cents`
    : `the account of ${user} has ${balanceCents} cents, but the ledger has paid them ${paidCents}`;
}
