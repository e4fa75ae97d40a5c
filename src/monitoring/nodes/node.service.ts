import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { hostname } from 'node:os';
import { RedisClock } from '../../platform/redis-clock';
import { LedgerHost } from '../../ledger/ledger-host';
import { LibCounts, type LibFigures } from '../figures/lib-counts';
import { AppAddress } from './app-address';
import { type GrabFigures, GrabMeter } from './grab-meter';
import { NodeReports } from './node-reports';

const EVERY_MS = 1_000;
const SILENT_AFTER_MS = 4_000;

/** Report of one process of the app. */
export interface NodeReport extends GrabFigures {
  /** `<host>:<pid>`. */
  readonly node: string;
  /** Base URL; missing until the process listens. */
  readonly url?: string;
  /** About the start of the process, ms since 1970, by its own clock. */
  readonly startedAtMs: number;
  /** Requests that a limit refused since the process started. */
  readonly refused: number;
  /** True if the process has the ledger and pays. */
  readonly ledger: boolean;
  readonly works: LibFigures;
}

/** Sends a report of this process to Redis every second, and remembers the reports that Redis returns. */
@Injectable()
export class NodeService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly node = `${hostname()}:${process.pid}`;
  private readonly logger = new Logger(NodeService.name);
  private readonly startedAtMs = Date.now();
  private timer: NodeJS.Timeout | undefined;
  private reporting: Promise<void> = Promise.resolve();
  private lastProblem: string | undefined;
  private reports: readonly NodeReport[] = [];

  constructor(
    private readonly meter: GrabMeter,
    private readonly exchange: NodeReports,
    private readonly host: LedgerHost,
    private readonly works: LibCounts,
    private readonly address: AppAddress,
    private readonly clock: RedisClock,
  ) {}

  /**
   * Returns the reports of all processes as of the last exchange with Redis that succeeded; one is tried every second. The
   * exchange drops a process whose last report is older than 4 s.
   */
  all(): readonly NodeReport[] {
    return this.reports;
  }

  onApplicationBootstrap(): void {
    const report = (): void => void (this.reporting = this.exchangeReports());
    this.timer = setInterval(report, EVERY_MS).unref();
    report();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.reporting;
    await this.exchange.forget(this.node).catch(() => undefined);
  }

  private async exchangeReports(): Promise<void> {
    try {
      const asked = Date.now();
      const { nowMs, reports } = await this.exchange.exchange<NodeReport>(this.report(), SILENT_AFTER_MS);
      this.reports = reports;
      this.clock.set(nowMs, asked);
      this.lastProblem = undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.lastProblem)
        this.logger.warn(`The exchange of reports with the other processes through Redis failed: ${problem}`);
      this.lastProblem = problem;
    }
  }

  private report(): NodeReport {
    const { url } = this.address;
    return {
      node: this.node,
      ...(url !== undefined && { url }),
      startedAtMs: this.startedAtMs,
      refused: this.works.refused,
      ledger: this.host.current() !== undefined,
      ...this.meter.figures(),
      works: this.works.figures(),
    };
  }
}
