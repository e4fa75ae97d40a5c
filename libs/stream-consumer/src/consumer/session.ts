import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Lease, LostError, time } from '../../../internal/src';
import type { TakenEntry } from './take-answer';

const HOST = hostname().replaceAll(/\s/g, '-');
/** Reason for which a session is lost; completes `This consumer may no longer own message ..., because`. */
export const LEASE_LOST = 'the lease of this consumer was taken over, Redis lost it, or the group was deleted';

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
  giveUp(reason: string): string;
  /** Notes that Redis has the outcome of the message, or never will. */
  settled(): void;
}

/** The reader that has a session. */
interface SessionOwner {
  /** Renews the lease in Redis. @returns false if it is lost */
  renew(session: Session, deadlineMs: number): Promise<boolean>;
  /** Ends the lease of a session without messages. */
  rest(session: Session): void;
  /** Gives up the session. @param reason clause after `because` */
  lose(session: Session, reason: string): void;
}

/**
 * The messages that this process has in one partition for one group, under one lease. When another consumer has taken over a
 * session, the scripts refuse all calls in its name, and this process begins a new session. The session is over then, as when
 * Redis lost its lease or the group was deleted.
 * See DECISIONS.md: lease-per-partition
 */
export class Session extends Lease {
  readonly name = `${HOST}:${process.pid}:${randomBytes(9).toString('base64url')}`;
  readonly messages = new Map<string, Held>();
  /** Messages that were handled, and whose acknowledgement is not sent yet. */
  acks: Held[] = [];
  /** Messages whose outcome is being sent. */
  readonly beingSettled = new Set<readonly Held[]>();
  private takes = 0;

  constructor(
    readonly owner: SessionOwner,
    leaseMs: number,
  ) {
    super(time.monotonicMs(), leaseMs);
  }

  /** True if a take of the session has succeeded: since then it is in the book of leases. */
  get begun(): boolean {
    return this.index >= 0;
  }

  /** Returns a text that is unique in the session. */
  nextToken(): string {
    return (this.takes++).toString(36);
  }

  /** Number of tokens so far. A take whose token has this number or a higher one begins later. */
  get taken(): number {
    return this.takes;
  }

  /** True if no message is being handled or settled. */
  get isIdle(): boolean {
    return this.messages.size === 0 && this.acks.length === 0 && this.beingSettled.size === 0;
  }

  /** Returns the ids of the entries that are being handled or settled. */
  heldIds(): string[] {
    return [...this.messages.values(), ...this.acks, ...[...this.beingSettled].flat()].map(({ entry }) => entry.id);
  }

  /** Gives up all messages but those whose outcome is being sent. @returns their ids; no ids at a second call */
  giveUp(reason: string): string[] {
    this.over = true;
    const ids = [...this.messages.values(), ...this.acks].map((message) => message.giveUp(reason));
    this.messages.clear();
    this.acks = [];
    return ids;
  }

  lossOf(): LostError {
    return new LostError(LEASE_LOST);
  }

  override beforeRenewal(): void {
    if (this.isIdle) this.owner.rest(this);
  }

  override lose(): void {
    if (!this.over) this.owner.lose(this, LEASE_LOST);
  }

  /** Fires the signals of all messages: the lease has ended by the clock of this process. In Redis it may not have ended. */
  protected override lapse(): void {
    for (const message of this.messages.values()) message.suspect('the lease could not be renewed in time');
  }
}
