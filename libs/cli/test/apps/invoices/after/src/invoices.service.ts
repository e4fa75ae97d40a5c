import { Injectable } from '@nestjs/common';
import { LockBusyError, LockService, type Lock } from 'luanest/lock';

@Injectable()
export class InvoicesService {
  readonly built: string[] = [];

  constructor(private readonly redlock: LockService) {}

  /** Builds an invoice, once at a time. */
  async build(id: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    await this.redlock.withLock(`invoice:${id}`, { leaseMs: 5000, waitMs: 0 }, async ({ signal }) => {
      await work(signal);
      // The lock may be gone by now.
      if (signal.aborted) throw signal.reason;
      this.built.push(id);
    });
  }

  async tryBuild(id: string): Promise<boolean> {
    let lock: Lock;
    try {
      lock = await this.redlock.acquire(`invoice:${id}`, { leaseMs: 5000, renew: false, waitMs: 0 });
    } catch (error) {
      if (error instanceof LockBusyError) return false;
      throw error;
    }
    try {
      await lock.extend(10_000);
      this.built.push(id);
      return true;
    } finally {
      await lock.release();
    }
  }
}
