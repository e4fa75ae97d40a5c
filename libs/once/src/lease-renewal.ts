import { performance } from 'node:perf_hooks';
import { MAX_TIMER_MS } from '../../internal/src';
import type { RenewAnswer } from './once.types';

/** Renews a lease, three times as often as needed, until it is told to stop or the lease is lost. */
export class LeaseRenewal {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private endsAt: number;

  /**
   * @param renew lets the lease run anew
   * @param leaseMs how long it lasts
   * @param claimedAt `performance.now()` from before the claim was sent: the lease ends no earlier than `leaseMs` after it
   */
  constructor(
    private readonly renew: () => Promise<RenewAnswer>,
    private readonly leaseMs: number,
    claimedAt: number,
  ) {
    this.endsAt = claimedAt + leaseMs;
    this.schedule();
  }

  /** Aborted when the lease is lost, or may be, since Redis could not be asked in time. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Ends the renewals. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.tick(), Math.min(Math.ceil(this.leaseMs / 3), MAX_TIMER_MS));
    this.timer.unref();
  }

  private async tick(): Promise<void> {
    const askedAt = performance.now();
    let lost: boolean;
    try {
      lost = (await this.renew()).status === 'lost';
      if (!lost) this.endsAt = askedAt + this.leaseMs;
    } catch {
      // Redis was away or silent: the lease may still be ours, until it ends by our own clock.
      lost = performance.now() >= this.endsAt;
    }
    if (this.stopped) return;
    if (lost) this.controller.abort(new Error('The lease is over: another may have claimed the id.'));
    else this.schedule();
  }
}
