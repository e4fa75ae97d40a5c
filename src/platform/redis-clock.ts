import { Injectable } from '@nestjs/common';

/** Redis' clock as this process knows it: rains begin and end by that clock, not by those of the processes. */
@Injectable()
export class RedisClock {
  private aheadMs = 0;

  /** Redis' time, ms since 1970; the own clock's until the first reading. */
  nowMs(): number {
    return Date.now() + this.aheadMs;
  }

  /**
   * Sets the clock by a reading. It is right to within half of the time that the reading took.
   *
   * @param redisMs time that Redis returned, ms since 1970
   * @param askedAtMs own time at which Redis was asked, ms since 1970
   */
  set(redisMs: number, askedAtMs: number): void {
    this.aheadMs = Math.round(redisMs - (askedAtMs + Date.now()) / 2);
  }
}
