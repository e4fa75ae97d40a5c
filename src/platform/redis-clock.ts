import { Injectable } from '@nestjs/common';

/** Redis' clock as this process knows it. Rains begin and end by Redis' clock, not by the clocks of the processes. */
@Injectable()
export class RedisClock {
  private aheadMs = 0;

  /** Returns Redis' time, ms since 1970; until the first `set`, the time of this process. */
  nowMs(): number {
    return Date.now() + this.aheadMs;
  }

  /**
   * Sets the clock. At this moment, the error is at most half of the time from the question to the reply, and rounding.
   *
   * @param redisMs time that Redis returned, ms since 1970
   * @param askedAtMs time of this process at which Redis was asked, ms since 1970
   */
  set(redisMs: number, askedAtMs: number): void {
    this.aheadMs = Math.round(redisMs - (askedAtMs + Date.now()) / 2);
  }
}
