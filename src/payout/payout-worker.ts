import type { RedPacketService } from 'luanest/red-packet';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../ledger/ledger.types';

/** The part of the red-packet service that paying out needs. */
export type PayoutSource = Pick<RedPacketService, 'activities' | 'claimPayouts' | 'settlePayouts'>;

/** What the worker tells about itself. */
export interface PayoutWorkerLog {
  log(message: string): void;
  warn(message: string): void;
}

/** How the worker works. */
export interface PayoutWorkerOptions {
  /** Names this worker in the consumer group; unique among the living ones. */
  readonly worker: string;
  /** Age at which a claimed, unsettled row may be taken over, ms. */
  readonly leaseMs: number;
  /** Rows a batch; 1 to 500, default 100. Small, since an embedded ledger blocks the process while it books one. */
  readonly batchSize?: number;
  /** Pause when there is nothing to pay, ms; default 100. */
  readonly idleMs?: number;
  /** Longest pause after errors, ms; default 5,000. */
  readonly maxBackoffMs?: number;
}

/**
 * Moves payouts from the outbox to the ledger: claim, book, acknowledge, in that order. A worker that dies between
 * two of the steps leaves rows that another one books again, which the ledger's UNIQUE keys make harmless.
 */
export class PayoutWorker {
  private readonly stopper = new AbortController();
  private running: Promise<void> | undefined;
  private failures = 0;
  private lastProblem: string | undefined;

  constructor(
    private readonly source: PayoutSource,
    private readonly ledger: Ledger,
    private readonly options: PayoutWorkerOptions,
    private readonly logger: PayoutWorkerLog,
  ) {}

  /** Begins to pay in the background; a worker that was stopped stays so. */
  start(): void {
    this.running ??= this.run();
  }

  /** Takes no more rows and resolves when the batch in hand is done. */
  async stop(): Promise<void> {
    this.stopper.abort();
    await this.running;
  }

  /** One round over all activities. Answers how many rows it took. @throws what the source or the ledger throws */
  async payRound(): Promise<number> {
    let taken = 0;
    let failure: { readonly error: unknown } | undefined;
    for (const activityId of await this.source.activities()) {
      if (this.stopper.signal.aborted) break;
      try {
        taken += await this.payBatch(activityId);
      } catch (error) {
        // The other activities' winners should not wait for a fault of this one.
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
    return taken;
  }

  private async payBatch(activityId: string): Promise<number> {
    const { worker, leaseMs, batchSize: count = 100 } = this.options;
    const rows = await this.source.claimPayouts(activityId, { worker, count, leaseMs });
    if (rows.length === 0) return 0;
    const { conflicts } = await this.ledger.credit(rows);
    for (const { row, reason } of conflicts) {
      this.logger.warn(
        `Refused to pay ${row.packetId} of ${row.activityId} to ${row.userId}: the ${reason} has been paid already`,
      );
    }
    // Conflicts too: they are on record in the ledger, and no retry would change them.
    await this.source.settlePayouts(
      activityId,
      rows.map((row) => row.entryId),
    );
    return rows.length;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopper;
    while (!signal.aborted) {
      const pauseMs = await this.round();
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Answers how long to wait before the next round. */
  private async round(): Promise<number> {
    try {
      const taken = await this.payRound();
      if (this.lastProblem !== undefined) this.logger.log('Paying out again');
      this.lastProblem = undefined;
      this.failures = 0;
      return taken > 0 ? 0 : (this.options.idleMs ?? 100);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (this.lastProblem !== problem) this.logger.warn(`Paying out fails, and is tried again: ${problem}`);
      this.lastProblem = problem;
      this.failures += 1;
      const ceilingMs = Math.min(this.options.maxBackoffMs ?? 5_000, 100 * 2 ** Math.min(this.failures, 10));
      return Math.ceil(ceilingMs * (0.5 + Math.random() / 2));
    }
  }
}
