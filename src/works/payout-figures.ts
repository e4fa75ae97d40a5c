import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ActivityStatus } from 'luanest/red-packet';
import { STREAM_CONSUMER_CHANNELS, type StreamStats, type StreamStatsEvent } from 'luanest/stream-consumer';
import type { LedgerTotals } from '../ledger/ledger.types';

const FRESH_MS = 15_000;

/** How the payouts of a rain stand. */
export interface PayoutFigures {
  /** Granted packets that the ledger has not booked yet; undefined without a ledger. */
  readonly behind: number | undefined;
  /** Payout rows that are in the outbox. */
  readonly rows: number;
  /** What the consumer of the outbox says of itself; undefined where none does. */
  readonly consumer: ConsumerFigures | undefined;
}

/** How this process' groups stand on the streams that they read, all streams together. */
export interface ConsumerFigures {
  /** Not yet taken. */
  readonly lag: number;
  /** Taken and not settled. */
  readonly pending: number;
  /** Given up: they wait for a person. */
  readonly dead: number;
  /** Attempts that were to be repeated, since this process started. */
  readonly retried: number;
}

interface Heard {
  readonly stats: StreamStats;
  readonly atMs: number;
}

/**
 * The one place that says how the payouts stand. What the outbox and the ledger tell is known always; what is pending at a
 * consumer and what it gave up come from the events of `luanest/stream-consumer`, as soon as one reads the outbox.
 */
@Injectable()
export class PayoutFiguresService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly heard = new Map<string, Heard>();
  private retried = 0;
  private readonly onStats = (event: unknown): void => this.note(event as StreamStatsEvent);
  private readonly onRetry = (): void => void (this.retried += 1);

  onApplicationBootstrap(): void {
    subscribe(STREAM_CONSUMER_CHANNELS.stats, this.onStats);
    subscribe(STREAM_CONSUMER_CHANNELS.retried, this.onRetry);
  }

  onApplicationShutdown(): void {
    unsubscribe(STREAM_CONSUMER_CHANNELS.stats, this.onStats);
    unsubscribe(STREAM_CONSUMER_CHANNELS.retried, this.onRetry);
  }

  /** What the consumers of this process say; undefined where it has none, or none that spoke lately. */
  consumer(): ConsumerFigures | undefined {
    for (const [name, { atMs }] of this.heard) if (Date.now() - atMs > FRESH_MS) this.heard.delete(name);
    if (this.heard.size === 0) return undefined;
    const sum = (pick: (stats: StreamStats) => number): number =>
      [...this.heard.values()].reduce((total, { stats }) => total + pick(stats), 0);
    return {
      lag: sum(({ lag }) => lag),
      pending: sum(({ pending }) => pending),
      dead: sum(({ dead }) => dead),
      retried: this.retried,
    };
  }

  /**
   * @param consumers what the processes said of theirs; those of one group all tell the same, so the greatest counts
   */
  of(
    status: ActivityStatus,
    ledger: LedgerTotals | undefined,
    consumers: readonly (ConsumerFigures | undefined)[],
  ): PayoutFigures {
    const spoke = consumers.filter((one) => one !== undefined);
    const most = (pick: (one: ConsumerFigures) => number): number => Math.max(...spoke.map(pick));
    return {
      behind: ledger && Math.max(0, status.grantedPackets - ledger.rows - ledger.conflicts),
      rows: status.outboxLength,
      consumer:
        spoke.length === 0
          ? undefined
          : {
              lag: most(({ lag }) => lag),
              pending: most(({ pending }) => pending),
              dead: most(({ dead }) => dead),
              retried: spoke.reduce((total, { retried }) => total + retried, 0),
            },
    };
  }

  private note({ stream, group, stats }: StreamStatsEvent): void {
    this.heard.set(`${stream} ${group}`, { stats, atMs: Date.now() });
  }
}
