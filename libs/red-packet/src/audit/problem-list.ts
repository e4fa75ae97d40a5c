const MOST_SHOWN = 100;

/** What an audit finds wrong, cut short so that a broken activity cannot fill a log. */
export class Problems {
  private readonly shown: string[] = [];
  private count = 0;

  /** Notes one. */
  add(problem: string): void {
    this.count += 1;
    if (this.shown.length < MOST_SHOWN) this.shown.push(problem);
  }

  /** Notes that two figures differ which should not. */
  compare(what: string, seen: number, other: string, expected: number): void {
    if (seen !== expected) this.add(`${what}: ${seen}, but ${other}: ${expected}`);
  }

  /** Takes over all that another list has. */
  include({ shown, count }: Problems): void {
    for (const problem of shown) this.add(problem);
    this.count += count - shown.length;
  }

  /** All that is shown, and how many are not. */
  list(): string[] {
    const more = this.count - this.shown.length;
    return more > 0 ? [...this.shown, `and ${more} more`] : [...this.shown];
  }
}
