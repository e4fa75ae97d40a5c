/** The time of a server. */
export interface Clock {
  /** Microseconds since 1970. */
  nowUs(): number;
  /**
   * True if a key is gone as soon as its TTL is over. Default: it lives until the millisecond in which it is over has passed, as
   * in a Redis server. While a clock keeps its time, that does not happen.
   */
  readonly exactTtl?: boolean;
}

/** The time of the process. */
export const processClock: Clock = {
  nowUs: () => Math.floor((performance.timeOrigin + performance.now()) * 1000),
};

/** A clock that keeps its time until it is set. */
export class ManualClock implements Clock {
  private us: number;

  /** @param nowMs ms since 1970 */
  constructor(nowMs: number) {
    this.us = nowMs * 1000;
  }

  nowUs(): number {
    return this.us;
  }

  /** Sets the time. It may go back. @param nowMs ms since 1970 */
  set(nowMs: number): void {
    this.us = Math.round(nowMs * 1000);
  }

  /** @param ms how much later it is now */
  advance(ms: number): void {
    this.us += Math.round(ms * 1000);
  }
}
