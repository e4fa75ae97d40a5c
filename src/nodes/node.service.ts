import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { RATE_LIMIT_CHANNELS } from 'luanest/rate-limit';
import { LedgerHost } from '../ledger/ledger-host';
import { type GrabFigures, GrabMeter } from './grab-meter';
import { NodeReports } from './node-reports';

const EVERY_MS = 1_000;
const SILENT_AFTER_MS = 4_000;

/** What a process says of itself. */
export interface NodeReport extends GrabFigures {
  /** `<host>:<pid>`. */
  readonly node: string;
  readonly startedAtMs: number;
  /** Requests that a limit refused since the process started. */
  readonly refused: number;
  /** Whether this process has the ledger and pays. */
  readonly ledger: boolean;
}

/** Tells the other processes of this one each second, and knows what they told. */
@Injectable()
export class NodeService implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  /** This process' name. */
  readonly node = `${hostname()}:${process.pid}`;
  private readonly logger = new Logger(NodeService.name);
  private readonly startedAtMs = Date.now();
  private readonly countRefusal = (): void => void (this.refused += 1);
  private refused = 0;
  private timer: NodeJS.Timeout | undefined;
  private telling: Promise<void> = Promise.resolve();
  private lastProblem: string | undefined;
  private reports: readonly NodeReport[] = [];

  constructor(
    private readonly meter: GrabMeter,
    private readonly exchange: NodeReports,
    private readonly host: LedgerHost,
  ) {}

  /** All living processes, as they were up to a second ago. */
  all(): readonly NodeReport[] {
    return this.reports;
  }

  onApplicationBootstrap(): void {
    subscribe(RATE_LIMIT_CHANNELS.refused, this.countRefusal);
    const tell = (): void => void (this.telling = this.tell());
    this.timer = setInterval(tell, EVERY_MS).unref();
    tell();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.telling;
    await this.exchange.forget(this.node).catch(() => undefined);
  }

  onApplicationShutdown(): void {
    unsubscribe(RATE_LIMIT_CHANNELS.refused, this.countRefusal);
  }

  private async tell(): Promise<void> {
    const { node, startedAtMs, refused } = this;
    const ledger = this.host.current() !== undefined;
    try {
      this.reports = await this.exchange.exchange<NodeReport>(
        { node, startedAtMs, refused, ledger, ...this.meter.figures() },
        SILENT_AFTER_MS,
      );
      this.lastProblem = undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.lastProblem) this.logger.warn(`The other processes are not told of this one: ${problem}`);
      this.lastProblem = problem;
    }
  }
}
