import { performance } from 'node:perf_hooks';
import { MAX_TIMER_MS } from '../../../internal/src';

/** What a round looks after. */
export interface Member {
  /** Where the rounds have it. */
  index: number;
  /**
   * Renews the lease when that is due, and ends it when its time is over.
   *
   * @param now `performance.now()`
   * @returns when this must be called again at the latest, by the same clock
   */
  tick(now: number): number;
}

/** Looks after all leases of one length by one timer: a timer for each request would show. */
export class Rounds {
  // An array, in which the last member replaces one that leaves: hash tables of what comes and goes burden the collector.
  private readonly all: Member[] = [];
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param leaseMs how long each lease lasts
   * @param emptied called when a round finds no member
   */
  constructor(
    private readonly leaseMs: number,
    private readonly emptied: () => void,
  ) {}

  /** The members, in no order. */
  get members(): readonly Member[] {
    return this.all;
  }

  /** Takes a member in. */
  add(member: Member): void {
    member.index = this.all.length;
    this.all.push(member);
    if (this.timer === undefined) this.schedule(this.leaseMs / 6);
  }

  /** Lets a member go. Harmless twice. */
  remove(member: Member): void {
    if (this.all[member.index] !== member) return;
    const last = this.all.pop() as Member;
    if (last === member) return;
    this.all[member.index] = last;
    last.index = member.index;
  }

  private schedule(afterMs: number): void {
    this.timer = setTimeout(() => this.round(), Math.min(Math.max(1, Math.ceil(afterMs)), MAX_TIMER_MS)).unref();
  }

  private round(): void {
    this.timer = undefined;
    const now = performance.now();
    let next = now + this.leaseMs / 6;
    for (const member of [...this.all]) next = Math.min(next, member.tick(now));
    if (this.all.length === 0) this.emptied();
    else this.schedule(next - now);
  }
}
