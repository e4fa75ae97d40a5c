import { performance } from 'node:perf_hooks';
import { Redis } from 'ioredis';
import { quiet } from '../../libs/script-registry/test/support';
import type { Span } from './takeovers';
import { sleep } from './wait';

const EVERY_MS = 50;
/** A write that takes longer was held up by the machine: by its disk, or for want of a core. */
const STALL_MS = 400;

/** Writes to Redis all the time, to know when the machine itself stood still: nothing is in time then. */
export class Pulse {
  readonly stalls: Span[] = [];
  private readonly client: Redis;
  private stopped = false;
  private readonly running: Promise<void>;

  /** @param now the clock of the spans, ms */
  constructor(
    port: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.client = quiet(new Redis(port, { retryStrategy: () => EVERY_MS, maxRetriesPerRequest: null }));
    this.running = this.beat();
  }

  /** The longest stall, ms. */
  get longestMs(): number {
    return Math.round(Math.max(0, ...this.stalls.map(([from, to]) => to - from)));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.client.disconnect();
    await this.running;
  }

  private async beat(): Promise<void> {
    while (!this.stopped) {
      const from = this.now();
      await this.client.set('luanest-test:pulse', from, 'PX', 60_000).catch(() => undefined);
      await sleep(EVERY_MS);
      const to = this.now();
      if (to - from > STALL_MS) this.stalls.push([from, to]);
    }
  }
}
