import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerOpener, OpenLedger } from './ledger-openers';
import type { ReadableLedger } from './ledger.types';

interface LedgerHostLog {
  log(message: string): void;
  warn(message: string): void;
}

/**
 * Opens the ledger for this process. While another process owns the ledger, or the database is unavailable, the app serves
 * without the ledger, and the host tries again a second after each attempt. Once opened, the ledger stays open until `stop`.
 */
export class LedgerHost {
  private opened: OpenLedger | undefined;
  private readonly listeners: ((ledger: ReadableLedger) => void)[] = [];
  private readonly stopper = new AbortController();
  private attempts: Promise<void> = Promise.resolve();
  private url: string | undefined;
  private obstacle: string | undefined;

  /** @param retryMs pause between two attempts, ms; default 1,000 */
  constructor(
    private readonly opener: LedgerOpener,
    private readonly logger: LedgerHostLog,
    private readonly retryMs = 1_000,
  ) {}

  /** Tries to open the ledger. If that fails, keeps trying in the background. */
  async start(): Promise<void> {
    await this.attempt();
    this.attempts = this.keepTrying();
  }

  current(): ReadableLedger | undefined {
    return this.opened?.ledger;
  }

  /** Returns the reason why this process has no ledger, in words; undefined if it has one. */
  async problem(): Promise<{ readonly message: string; readonly ownerUrl?: string } | undefined> {
    if (this.opened !== undefined) return undefined;
    const ownerUrl = await this.opener.ownerUrl();
    return { message: this.obstacle ?? 'The ledger is not open.', ...(ownerUrl !== undefined && { ownerUrl }) };
  }

  /** Calls `listener` with the ledger as soon as this process has it. Calls at once if the ledger is open. */
  onOpen(listener: (ledger: ReadableLedger) => void): void {
    this.listeners.push(listener);
    if (this.opened !== undefined) listener(this.opened.ledger);
  }

  /** Publishes the URL of this process to the other processes, now if this process has the ledger, else when it gets it. */
  async announce(url: string): Promise<void> {
    this.url = url;
    if (this.opened !== undefined) await this.opener.announce(url);
  }

  /** Closes the ledger, so that another process can open it. Harmless twice. */
  async stop(): Promise<void> {
    this.stopper.abort();
    await this.attempts;
    const opened = this.opened;
    this.opened = undefined;
    await opened?.release();
  }

  private async keepTrying(): Promise<void> {
    const { signal } = this.stopper;
    while (this.opened === undefined && !signal.aborted) {
      await sleep(this.retryMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.attempt();
    }
  }

  private async attempt(): Promise<void> {
    try {
      this.opened = await this.opener.tryOpen();
    } catch (error) {
      return this.note(`The ledger cannot be opened: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (this.opened === undefined) return this.note('Another process owns the ledger. This one serves without it.');
    this.obstacle = undefined;
    this.logger.log('This process has the ledger');
    if (this.url !== undefined) {
      await this.announce(this.url).catch((error: unknown) =>
        this.logger.warn(
          'Other processes cannot read the ledger until this process starts again, because its URL could not be ' +
            `announced to them: ${String(error)}`,
        ),
      );
    }
    for (const listener of this.listeners) listener(this.opened.ledger);
  }

  /** Logs why the ledger is not open, once until the reason changes. */
  private note(obstacle: string): void {
    if (obstacle !== this.obstacle) this.logger.warn(obstacle);
    this.obstacle = obstacle;
  }
}
