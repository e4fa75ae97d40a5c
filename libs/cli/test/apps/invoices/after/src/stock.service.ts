import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { LockService } from 'luanest/lock';

@Injectable()
export class StockService {
  private left = 10;

  constructor(private readonly redis: Redis, private readonly redlock: LockService) {
  }

  /** Two names at once, and a wait for the others. */
  async move(from: string, to: string): Promise<number> {
    const lock = await this.redlock.acquire([`stock:${from}`, `stock:${to}`], { leaseMs: 2_000, renew: false, waitMs: 1_000 });
    try {
      const before = this.left;
      await this.redis.ping();
      this.left = before - 1;
      return this.left;
    } finally {
      await lock.release();
    }
  }
}
