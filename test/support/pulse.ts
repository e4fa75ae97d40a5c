import { performance } from 'node:perf_hooks';
import { Redis } from 'ioredis';
import { quiet } from '../../libs/script-registry/test/support';
import type { Span } from './takeovers';
import { sleep } from './wait';

export interface PulseOptions {
  /** Clock of the recorded times, ms. Default: `performance.now()`. */
  readonly now?: () => number;
  /** Default 50. */
  readonly everyMs?: number;
  /** Longest time of a write, ms. A write that takes longer is a stall, for example of the disk or the CPU. Default 400. */
  readonly stallMs?: number;
}

const [EVERY_MS, STALL_MS] = [50, 400];

/** Writes to Redis all the time, to record when this process, Redis or the machine stood still. Tests ignore delays in that time. */
export class Pulse {
  readonly stalls: Span[] = [];
  private readonly client: Redis;
  private stopped = false;
  private endWrite = (): void => undefined;
  private readonly running: Promise<void>;

  /** @param url URL of a Redis that may be unavailable at times */
  constructor(
    url: string,
    { now = () => performance.now(), everyMs = EVERY_MS, stallMs = STALL_MS }: PulseOptions = {},
  ) {
    this.client = quiet(new Redis(url, { retryStrategy: () => everyMs, maxRetriesPerRequest: null }));
    this.running = this.beat(now, everyMs, stallMs);
  }

  /** The longest stall, ms. */
  get longestMs(): number {
    return Math.round(Math.max(0, ...this.stalls.map(([from, to]) => to - from)));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.client.disconnect();
    // While a client waits to reconnect, ioredis never settles the commands of a client that is disconnected.
    this.endWrite();
    await this.running;
  }

  private async beat(now: () => number, everyMs: number, stallMs: number): Promise<void> {
    while (!this.stopped) {
      const from = now();
      const written = this.client.set('luanest-test:pulse', from, 'PX', 60_000).catch(() => undefined);
      await Promise.race([written, new Promise<void>((resolve) => (this.endWrite = resolve))]);
      await sleep(everyMs);
      const to = now();
      if (to - from > stallMs) this.stalls.push([from, to]);
    }
  }
}

/** Calls `tell` with the length of each stall of this process, ms, after the stall. Other processes cannot notice such a stall. */
export function ownStalls(tell: (ms: number) => void): void {
  let seenAt = performance.now();
  setInterval(() => {
    const now = performance.now();
    if (now - seenAt > STALL_MS) tell(Math.ceil(now - seenAt));
    seenAt = now;
  }, EVERY_MS).unref();
}
