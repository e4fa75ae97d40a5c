export interface Scored {
  readonly member: string;
  readonly score: number;
}

/** A sorted set. Members are sorted by score. Members with equal scores are sorted by their bytes. */
export class SortedSet {
  readonly type = 'zset';

  private constructor(
    private readonly scores: Map<string, number>,
    private readonly order: Scored[],
  ) {}

  static empty(): SortedSet {
    return new SortedSet(new Map(), []);
  }

  get size(): number {
    return this.order.length;
  }

  get all(): readonly Scored[] {
    return this.order;
  }

  copy(): SortedSet {
    return new SortedSet(new Map(this.scores), [...this.order]);
  }

  score(member: string): number | undefined {
    return this.scores.get(member);
  }

  /** Returns the index of a member; undefined if there is no such member. */
  rank(member: string): number | undefined {
    const score = this.scores.get(member);
    return score === undefined ? undefined : this.indexOf({ member, score });
  }

  set(member: string, score: number): void {
    this.delete(member);
    // Redis stores -0 as the integer 0, which has no sign.
    const scored = { member, score: score === 0 ? 0 : score };
    this.scores.set(member, scored.score);
    this.order.splice(this.indexOf(scored), 0, scored);
  }

  delete(member: string): boolean {
    const rank = this.rank(member);
    if (rank === undefined) return false;
    this.removeRange(rank, rank + 1);
    return true;
  }

  /** Removes the members from index `from` up to, and without, index `to`. @returns the number of removed members */
  removeRange(from: number, to: number): number {
    const removed = to <= from ? [] : this.order.splice(from, to - from);
    for (const { member } of removed) this.scores.delete(member);
    return removed.length;
  }

  /** Returns the index of the first member for which `isAfter` is true. It must then be true for all later members, too. */
  findIndex(isAfter: (scored: Scored) => boolean): number {
    let [low, high] = [0, this.order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isAfter(this.order[middle] as Scored)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  private indexOf({ member, score }: Scored): number {
    return this.findIndex((one) => one.score > score || (one.score === score && one.member >= member));
  }
}
