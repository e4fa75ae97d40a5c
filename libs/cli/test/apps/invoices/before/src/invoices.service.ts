import { Inject, Injectable } from '@nestjs/common';
import type Redlock from 'redlock';
import { ExecutionError, type Lock, type RedlockAbortSignal } from 'redlock';
import { REDLOCK } from './redis.module';

@Injectable()
export class InvoicesService {
  readonly built: string[] = [];

  constructor(@Inject(REDLOCK) private readonly redlock: Redlock) {}

  /** Builds an invoice, once at a time. */
  async build(id: string, work: (signal: RedlockAbortSignal) => Promise<void>): Promise<void> {
    await this.redlock.using([`invoice:${id}`], 5000, async (signal) => {
      await work(signal);
      // The lock may be gone by now.
      if (signal.aborted) throw signal.error;
      this.built.push(id);
    });
  }

  async tryBuild(id: string): Promise<boolean> {
    let lock: Lock;
    try {
      lock = await this.redlock.acquire([`invoice:${id}`], 5000);
    } catch (error) {
      if (error instanceof ExecutionError) return false;
      throw error;
    }
    try {
      lock = await lock.extend(10_000);
      this.built.push(id);
      return true;
    } finally {
      await lock.release();
    }
  }
}
