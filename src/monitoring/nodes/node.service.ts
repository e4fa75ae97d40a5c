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

/** What a process says of itself. */
export interface NodeReport extends GrabFigures {
  /** `<host>:<pid>`. */
  readonly node: string;
  /** Where it serves; undefined before it listens. */
  readonly url?: string;
  readonly startedAtMs: number;
  /** Requests that a limit refused since the process started. */
  readonly refused: number;
  /** Whether this process has the ledger and pays. */
  readonly ledger: boolean;
  /** What the libs have done in it. */
  readonly works: LibFigures;
}

/** Tells the other processes of this one each second, and knows what they told. */
@Injectable()
export class NodeService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** This process' name. */
  readonly node = `${hostname()}:${process.pid}`;
  private readonly logger = new Logger(NodeService.name);
  private readonly startedAtMs = Date.now();
  private timer: NodeJS.Timeout | undefined;
  private telling: Promise<void> = Promise.resolve();
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

  /** All living processes, as they were up to a second ago. */
  all(): readonly NodeReport[] {
    return this.reports;
  }

  onApplicationBootstrap(): void {
    const tell = (): void => void (this.telling = this.tell());
    this.timer = setInterval(tell, EVERY_MS).unref();
    tell();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.telling;
    await this.exchange.forget(this.node).catch(() => undefined);
  }

  private async tell(): Promise<void> {
    try {
      const asked = Date.now();
      const { nowMs, reports } = await this.exchange.exchange<NodeReport>(this.report(), SILENT_AFTER_MS);
      this.reports = reports;
      this.clock.set(nowMs, asked);
      this.lastProblem = undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.lastProblem) this.logger.warn(`The other processes are not told of this one: ${problem}`);
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
