import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { TakenEntry } from './take-answer';

const HOST = hostname().replaceAll(/\s/g, '-');

/** The partition and the group that messages come from. */
export interface Origin {
  readonly stream: string;
  readonly group: string;
  /** `<partition>:`, the first part of each message id. */
  readonly idPrefix: string;
  readonly isOrdered: boolean;
}

/** A message that a session has taken. */
export interface Held {
  readonly entry: TakenEntry;
  readonly session: Session;
  /** Fires the signal of the message, because this consumer may no longer own it. @param reason clause after `because` */
  suspect(reason: string): void;
  /**
   * Fires the signal, and ignores the outcome of the handler, because this consumer no longer owns the message.
   *
   * @returns the message id
   */
  lose(reason: string): string;
}

/**
 * The messages that this process has in one partition for one group, under one lease. When another consumer has taken over a
 * session, the scripts refuse all calls in its name, and this process begins a new session.
 * See DECISIONS.md: lease-per-partition
 */
export class Session {
  readonly name = `${HOST}:${process.pid}:${randomBytes(9).toString('base64url')}`;
  readonly held = new Map<string, Held>();
  /** Messages that were handled, and whose acknowledgement is not sent yet. */
  acks: Held[] = [];
  /** Messages whose outcome is being sent. */
  readonly settling = new Set<readonly Held[]>();
  /** True if another consumer took over the session, Redis lost its lease, or the group was deleted. */
  lost = false;
  /** True if a take of the session has succeeded. */
  begun = false;
  /**
   * Time at which the last call that extends the lease was sent, by `time.monotonicMs()`; 0 before the first one, and after one that
   * failed.
   */
  extendedAt = 0;
  /** End of the lease, by `time.monotonicMs()`; Infinity before the first take. */
  endsAt = Infinity;
  private takes = 0;

  /** Returns a text that is unique in the session. */
  nextToken(): string {
    return (this.takes++).toString(36);
  }

  /** Number of tokens so far. A take whose token has this number or a higher one begins later. */
  get taken(): number {
    return this.takes;
  }

  /** Returns the ids of the entries that are being handled or settled. */
  heldIds(): string[] {
    return [...this.held.values(), ...this.acks, ...[...this.settling].flat()].map(({ entry }) => entry.id);
  }

  /** Notes that a call extended the lease. @param sentAt time at which the call was sent, by `time.monotonicMs()` */
  extended(sentAt: number, leaseMs: number): void {
    this.extendedAt = sentAt;
    this.endsAt = sentAt + leaseMs;
  }

  /** Fires the signals of all messages if the lease has ended by the clock of this process. In Redis it may not have ended. */
  suspect(now: number): void {
    if (now < this.endsAt) return;
    for (const message of this.held.values()) message.suspect('the lease could not be renewed in time');
  }

  /** Gives up all messages but those whose outcome is being sent. @returns their ids; no ids at a second call */
  lose(reason: string): string[] {
    this.lost = true;
    const ids = [...this.held.values(), ...this.acks].map((message) => message.lose(reason));
    this.held.clear();
    this.acks = [];
    return ids;
  }
}
