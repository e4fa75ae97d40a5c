const MAX_KEPT = 100;

/** Problems that an audit has found. Keeps the first 100 and only counts the others, so that a log does not get too long. */
export class Problems {
  private readonly kept: string[] = [];
  private count = 0;

  add(problem: string): void {
    this.count += 1;
    if (this.kept.length < MAX_KEPT) this.kept.push(problem);
  }

  /** Adds the problem `<what>: <seen>, but <other>: <expected>` if the two numbers differ. */
  compare(what: string, seen: number, other: string, expected: number): void {
    if (seen !== expected) this.add(`${what}: ${seen}, but ${other}: ${expected}`);
  }

  include({ kept, count }: Problems): void {
    for (const problem of kept) this.add(problem);
    this.count += count - kept.length;
  }

  /** Returns the problems. A last line has the number of those that were not kept. */
  list(): string[] {
    const more = this.count - this.kept.length;
    return more > 0 ? [...this.kept, `and ${more} more problems`] : [...this.kept];
  }
}
