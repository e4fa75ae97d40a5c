import type { Lease } from '../lease/lease';
import type { Ticket } from './lock-calls';
import type { Ending } from './ending';
import { Sleeper, type Releases } from './waiting';

/** How long the first in the queue has to take a lock that is free, ms. Longer than the way from Redis and back. */
export const TURN_MS = 250;
/** How long waiting may be held up by the subscription to releases, ms. */
const LISTEN_MS = 100;

/** What a look at the lock found: it is taken now, or it is to be looked at again. */
export type Look = { readonly lease: Lease } | { readonly leftMs: number; readonly ahead: number };

/** What a line needs. */
export interface LineContext {
  readonly pollMs: number;
  readonly releases: Releases;
  readonly ticket: string;
  /** Takes the ticket out of the queue in Redis. */
  leave(): void;
  /** Called when nobody is in line any more. */
  emptied(): void;
}

/**
 * Those that wait for one lock in this process, first come first served. Together they have one ticket in the queue that
 * Redis keeps of the processes; the first of them asks for all.
 * See DECISIONS.md: queue-of-processes
 */
export class Line {
  private readonly sleepers: Sleeper[] = [];
  private readonly ticket: Ticket;
  /** Tickets that come first: as many as Redis counted, and one less for each release since. */
  private ahead = 0;
  /** When to look again, by `performance.now()`. */
  private lookAt = 0;
  /** True while Redis may have the ticket. */
  private queued = false;
  private looking = false;
  /** Releases since the last look was sent. */
  private rings = 0;

  constructor(private readonly context: LineContext) {
    this.ticket = { ticket: context.ticket, countsMs: 2 * context.pollMs + 1_000, turnMs: TURN_MS };
  }

  /** Called at each release, and where one may have been missed. */
  released(): void {
    this.rings += 1;
    if (!this.looking) this.advance();
    this.sleepers[0]?.ring();
  }

  /** Waits until `until`, and looks when it is time. @returns undefined when the time is over, or `ending` has come */
  async wait(until: number, ending: Ending, look: (ticket: Ticket) => Promise<Look>): Promise<Lease | undefined> {
    const me = new Sleeper();
    this.sleepers.push(me);
    ending.onEnd(() => me.ring());
    try {
      for (;;) {
        const leftMs = until - performance.now();
        if (ending.over || leftMs <= 0) return undefined;
        const dueMs = this.sleepers[0] === me ? this.lookAt - performance.now() : Infinity;
        if (dueMs > 0) {
          await me.sleep(Math.max(1, Math.min(dueMs, leftMs)));
        } else {
          const lease = await this.lookNow(Math.min(leftMs, LISTEN_MS), look);
          if (lease) return lease;
        }
      }
    } finally {
      this.sleepers.splice(this.sleepers.indexOf(me), 1);
      if (this.sleepers.length === 0) this.close();
      else this.sleepers[0]?.ring();
    }
  }

  private async lookNow(listenMs: number, look: (ticket: Ticket) => Promise<Look>): Promise<Lease | undefined> {
    const { releases, pollMs } = this.context;
    // A release between the look and the subscription would be missed: look once that stands.
    await releases.listen(listenMs);
    this.queued = this.looking = true;
    this.rings = this.ahead = this.lookAt = 0;
    try {
      const found = await look(this.ticket);
      if ('lease' in found) {
        this.queued = false;
        return found.lease;
      }
      this.ahead = found.ahead;
      const polls = pollMs * (0.5 + Math.random() / 2);
      // The first in the queue has to be there when the lock is released.
      const pause = releases.listening || found.ahead > 0 ? polls : Math.min(polls, TURN_MS / 2);
      this.lookAt = performance.now() + Math.min(pause, found.leftMs + 1);
      // The answer may be older than a release that was heard meanwhile.
      for (let i = 0; i < this.rings; i++) this.advance();
      return undefined;
    } finally {
      this.looking = false;
    }
  }

  private advance(): void {
    if (this.ahead === 0) {
      this.lookAt = 0;
    } else {
      this.ahead -= 1;
      // Whoever comes first may be gone.
      this.lookAt = Math.min(this.lookAt, performance.now() + TURN_MS);
    }
  }

  private close(): void {
    this.context.releases.close();
    if (this.queued) this.context.leave();
    this.context.emptied();
  }
}
