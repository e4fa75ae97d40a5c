import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Delivery } from './delivery';

const HOST = hostname().replaceAll(/\s/g, '-');

/**
 * What this process has in one partition for one group, under one lease. Once it was taken over it is over for good,
 * and a new one begins: whatever still speaks in its name is refused.
 */
export class Session {
  readonly name = `${HOST}:${process.pid}:${randomBytes(9).toString('base64url')}`;
  readonly held = new Map<string, Delivery>();
  /** Handled, and not yet told to Redis. */
  acks: Delivery[] = [];
  lost = false;
  /** Whether Redis may know it. */
  begun = false;
  /** When the lease was last extended, and when it is over, by `performance.now()`. */
  extendedAt = 0;
  endsAt = Infinity;
  private takes = 0;

  nextToken(): string {
    return (this.takes++).toString(36);
  }

  extended(sentAt: number, leaseMs: number): void {
    this.extendedAt = sentAt;
    this.endsAt = sentAt + leaseMs;
  }

  /** Fires the signals of all that is held: by this process' clock the lease is over, though Redis may not say so. */
  doubt(now: number): void {
    if (now < this.endsAt) return;
    for (const delivery of this.held.values()) delivery.doubt('the lease could not be renewed in time');
  }

  /** Gives up all that is held. Answers what was lost, which is nothing at the second call. */
  lose(reason: string): string[] {
    this.lost = true;
    const ids = [...this.held.values(), ...this.acks].map((delivery) => delivery.forsake(reason));
    this.held.clear();
    this.acks = [];
    return ids;
  }
}
