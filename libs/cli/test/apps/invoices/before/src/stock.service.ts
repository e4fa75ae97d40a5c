import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import Redlock from 'redlock';

@Injectable()
export class StockService {
  private readonly redlock: Redlock;
  private left = 10;

  constructor(private readonly redis: Redis) {
    this.redlock = new Redlock([redis], {
      retryCount: 20,
      retryDelay: 50,
    });
    this.redlock.on('error', () => undefined);
  }

  /** Two names at once, and a wait for the others. */
  async move(from: string, to: string): Promise<number> {
    const lock = await this.redlock.acquire([`stock:${from}`, `stock:${to}`], 2_000);
    try {
      const before = this.left;
      await this.redis.ping();
      this.left = before - 1;
      return this.left;
    } finally {
      await this.redlock.release(lock);
    }
  }
}
