const MAX_KEPT = 100;

/** Problems that an audit found. Keeps the first 100, so that a damaged activity cannot fill a log. */
export class Problems {
  private readonly kept: string[] = [];
  private count = 0;

  /** Adds a problem. */
  add(problem: string): void {
    this.count += 1;
    if (this.kept.length < MAX_KEPT) this.kept.push(problem);
  }

  /** Adds a problem if two numbers differ. */
  compare(what: string, seen: number, other: string, expected: number): void {
    if (seen !== expected) this.add(`${what}: ${seen}, but ${other}: ${expected}`);
  }

  /** Adds all problems of another list. */
  include({ kept, count }: Problems): void {
    for (const problem of kept) this.add(problem);
    this.count += count - kept.length;
  }

  /** Returns the problems, and a last line with the number of those that were not kept. */
  list(): string[] {
    const more = this.count - this.kept.length;
    return more > 0 ? [...this.kept, `and ${more} more`] : [...this.kept];
  }
}
