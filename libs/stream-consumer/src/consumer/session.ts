import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { TakenEntry } from './take-answer';

const HOST = hostname().replaceAll(/\s/g, '-');

/** A message that a session has, or had. */
export interface Held {
  readonly entry: TakenEntry;
  readonly session: Session;
  /** It may be another's. */
  doubt(reason: string): void;
  /** It was lost. Answers its id. */
  forsake(reason: string): string;
}

/**
 * What this process has in one partition for one group, under one lease. Once it was taken over it is over for good,
 * and a new one begins: whatever still speaks in its name is refused.
 * See DECISIONS.md: lease-per-partition
 */
export class Session {
  readonly name = `${HOST}:${process.pid}:${randomBytes(9).toString('base64url')}`;
  readonly held = new Map<string, Held>();
  /** Handled, and not yet told to Redis. */
  acks: Held[] = [];
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
    for (const message of this.held.values()) message.doubt('the lease could not be renewed in time');
  }

  /** Gives up all that is held. Answers what was lost, which is nothing at the second call. */
  lose(reason: string): string[] {
    this.lost = true;
    const ids = [...this.held.values(), ...this.acks].map((message) => message.forsake(reason));
    this.held.clear();
    this.acks = [];
    return ids;
  }
}
