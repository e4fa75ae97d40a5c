/** Random choices that are the same for the same seed. */
export class Random {
  constructor(private state: number) {}

  /** Returns an integer from 0 to below `limit`. */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  chance(share: number): boolean {
    return this.below(1000) < share * 1000;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  list<Item>(least: number, most: number, make: () => Item): Item[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make);
  }
}
