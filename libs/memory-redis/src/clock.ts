export interface Clock {
  /** Returns the time, microseconds since 1970. */
  nowUs(): number;
  /**
   * True if a key is gone in the millisecond in which its TTL ends. Default false: it is gone one millisecond later, as in a Redis server.
   * So a key whose TTL has just ended exists until the clock moves.
   */
  readonly exactTtl?: boolean;
}

/** The clock of this process. */
export const processClock: Clock = {
  nowUs: () => Math.floor((performance.timeOrigin + performance.now()) * 1000),
};

/** A clock that stands still until `set()` or `advance()` is called. */
export class ManualClock implements Clock {
  private us: number;

  /** @param nowMs ms since 1970 */
  constructor(nowMs: number) {
    this.us = nowMs * 1000;
  }

  nowUs(): number {
    return this.us;
  }

  /** Sets the time, also to an earlier one. @param nowMs ms since 1970 */
  set(nowMs: number): void {
    this.us = Math.round(nowMs * 1000);
  }

  /** Moves the time forward. @param ms how far, ms */
  advance(ms: number): void {
    this.us += Math.round(ms * 1000);
  }
}
