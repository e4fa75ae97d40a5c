import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

/** A stretch of time in which somebody stood still, ms since the epoch. */
export type Stall = readonly [from: number, to: number];

const EVERY_MS = 10;
/** How much later than it might a look ends that is no stall, ms. As in `processes/slots-node.cjs`. */
const LATE_MS = 20;

/** Looks at the clock and asks Redis all the time, to know when this process or Redis stood still. */
export class StallWatch {
  readonly stalls: Stall[] = [];
  private watching = true;
  private readonly watched: Promise<void>;

  constructor(private readonly client: Redis) {
    this.watched = this.watch();
  }

  /** Whether there was a stall of more than `longerMs` in a stretch of time. */
  seen(from: number, to: number, longerMs = 0): boolean {
    return this.stalls.some((stall) => stall[1] - stall[0] > longerMs && stall[0] < to && stall[1] > from);
  }

  /**
   * Whether a slot may be lost although its timer fired: a tick that meets the run before it looks again until its
   * period is over, which nobody can who stands still.
   */
  excuses(slot: number, periodMs: number): boolean {
    return this.seen(slot - periodMs / 2, slot + periodMs, periodMs / 8);
  }

  async stop(): Promise<void> {
    this.watching = false;
    await this.watched;
  }

  private async watch(): Promise<void> {
    for (let from = Date.now(); this.watching;) {
      await sleep(EVERY_MS);
      await this.client.ping();
      const to = Date.now();
      if (to - from > EVERY_MS + LATE_MS) this.stalls.push([from, to]);
      from = to;
    }
  }
}
