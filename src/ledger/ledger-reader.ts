import { Injectable } from '@nestjs/common';
import { AdminToken } from '../visitors/identity/admin.guard';
import { LedgerHost } from './ledger-host';
import type {
  LedgerTotals,
  PaidPage,
  PaidPacket,
  ReadableLedger,
  WrongAccount,
  WrongAccountsPage,
} from './ledger.types';

const PAGE = 1_000;
const PATIENCE_MS = 2_000;

/** The ledger could not be read, for example while it moves to another process or its database is unavailable. */
export class LedgerUnavailableError extends Error {
  readonly code = 'LEDGER_UNAVAILABLE';

  constructor(cause?: unknown) {
    super('The ledger could not be read. Try again later.', { cause });
    this.name = 'LedgerUnavailableError';
  }
}

/** Reads the ledger: in this process, or over HTTP from the process that has it. */
@Injectable()
export class LedgerReader {
  constructor(
    private readonly host: LedgerHost,
    private readonly admin: AdminToken,
  ) {}

  /**
   * Reads the totals of an activity key. Returns undefined if no known process has the ledger, or if the other process responds
   * with an error status.
   *
   * @throws {Error} if the database of this process fails, or the other process does not respond
   */
  async totals(activityKey: string): Promise<LedgerTotals | undefined> {
    const own = this.host.current();
    return own === undefined ? this.ask<LedgerTotals>(encodeURIComponent(activityKey)) : own.totals(activityKey);
  }

  /**
   * Reads all payouts of an activity key. The iteration reads page by page, and throws LedgerUnavailableError if a page cannot
   * be read. Returns undefined if no known process has the ledger.
   */
  async payouts(activityKey: string): Promise<AsyncIterable<PaidPacket> | undefined> {
    const here = this.host.current() !== undefined || (await this.host.problem())?.ownerUrl !== undefined;
    return here ? this.payoutsOf(activityKey) : undefined;
  }

  /**
   * Reads the accounts that differ, as `ReadableLedger.wrongAccounts`. Returns undefined if no known process has the ledger, or if
   * the other process responds with an error status.
   *
   * @throws {Error} as `totals`
   */
  async wrongAccounts(): Promise<readonly WrongAccount[] | undefined> {
    const own = this.host.current();
    return own === undefined ? this.ask('accounts') : own.wrongAccounts();
  }

  /**
   * Reads the accounts that differ, of all users whom the ledger has paid a packet of this activity key. Reads page by page.
   *
   * @throws {LedgerUnavailableError} if a page cannot be read
   */
  async wrongAccountsOf(activityKey: string): Promise<readonly WrongAccount[]> {
    const wrong: WrongAccount[] = [];
    const pages = this.pages(
      (own, after) => own.wrongAccountsOf(activityKey, after, PAGE),
      `${encodeURIComponent(activityKey)}/accounts`,
    );
    for await (const page of pages) wrong.push(...page.wrong);
    return wrong;
  }

  private async *payoutsOf(activityKey: string): AsyncIterable<PaidPacket> {
    const pages = this.pages(
      (own, after) => own.payouts(activityKey, after, PAGE),
      `${encodeURIComponent(activityKey)}/payouts`,
    );
    for await (const page of pages) yield* page.payouts;
  }

  /** Reads pages: with `read` from the ledger of this process, or from a path of the process that has the ledger. */
  private async *pages<Page extends PaidPage | WrongAccountsPage>(
    read: (own: ReadableLedger, after: string) => Promise<Page>,
    path: string,
  ): AsyncIterable<Page> {
    for (let after: string | null = ''; after !== null;) {
      const own = this.host.current();
      const asked: Promise<Page | undefined> =
        own === undefined ? this.ask<Page>(`${path}?after=${encodeURIComponent(after)}`) : read(own, after);
      const page: Page | undefined = await asked.catch((cause: unknown) => {
        throw new LedgerUnavailableError(cause);
      });
      if (page === undefined) throw new LedgerUnavailableError();
      yield page;
      after = page.next;
    }
  }

  private async ask<T>(path: string): Promise<T | undefined> {
    const owner = (await this.host.problem())?.ownerUrl;
    if (owner === undefined) return undefined;
    const answer = await fetch(`${owner}/ledger/${path}`, {
      headers: { authorization: `Bearer ${this.admin.value}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return answer.ok ? ((await answer.json()) as T) : undefined;
  }
}
