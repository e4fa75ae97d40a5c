import { Injectable } from '@nestjs/common';
import { AdminToken } from '../visitors/identity/admin.guard';
import { LedgerHost } from './ledger-host';
import type { LedgerTotals, PaidPage, PaidPacket } from './ledger.types';

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
    return own === undefined ? this.ask<LedgerTotals>(activityKey) : own.totals(activityKey);
  }

  /**
   * Reads all payouts of an activity key. The iteration reads page by page, and throws LedgerUnavailableError if a page cannot
   * be read. Returns undefined if no known process has the ledger.
   */
  async payouts(activityKey: string): Promise<AsyncIterable<PaidPacket> | undefined> {
    const here = this.host.current() !== undefined || (await this.host.problem())?.ownerUrl !== undefined;
    return here ? this.pages(activityKey) : undefined;
  }

  private async *pages(activityKey: string): AsyncIterable<PaidPacket> {
    for (let after: string | null = ''; after !== null;) {
      const page: PaidPage | undefined = await this.page(activityKey, after).catch((cause: unknown) => {
        throw new LedgerUnavailableError(cause);
      });
      if (page === undefined) throw new LedgerUnavailableError();
      yield* page.payouts;
      after = page.next;
    }
  }

  private async page(activityKey: string, after: string): Promise<PaidPage | undefined> {
    const own = this.host.current();
    if (own !== undefined) return own.payouts(activityKey, after, PAGE);
    return this.ask(activityKey, `/payouts?after=${encodeURIComponent(after)}`);
  }

  private async ask<T>(activityKey: string, path = ''): Promise<T | undefined> {
    const owner = (await this.host.problem())?.ownerUrl;
    if (owner === undefined) return undefined;
    const answer = await fetch(`${owner}/ledger/${encodeURIComponent(activityKey)}${path}`, {
      headers: { authorization: `Bearer ${this.admin.value}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return answer.ok ? ((await answer.json()) as T) : undefined;
  }
}
