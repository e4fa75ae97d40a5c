/** Pseudorandom indexes. Each server begins with the same seed, so that tests can be repeated. */
export class RandomIndexes {
  /** State of the generator: 32 bits. It determines all indexes that follow. */
  state = 1;

  /** Returns an integer of at least 0 and below `count`. */
  below(count: number): number {
    // This is the linear congruential generator of Numerical Recipes. Its upper bits are more random than its lower bits.
    this.state = (Math.imul(this.state, 1664525) + 1013904223) | 0;
    return Math.floor(((this.state >>> 0) / 2 ** 32) * count);
  }

  /**
   * Chooses items as HRANDFIELD and ZRANDMEMBER do.
   *
   * @param count if 0 or more: the maximum number of items, all of them different. If below 0: exactly -count items, and an item may occur
   *   more than once
   */
  choose<Item>(items: readonly Item[], count: number): Item[] {
    if (items.length === 0) return [];
    if (count < 0) return Array.from({ length: -count }, () => items[this.below(items.length)] as Item);
    const left = [...items];
    const chosen: Item[] = [];
    while (chosen.length < count && left.length > 0) chosen.push(...left.splice(this.below(left.length), 1));
    return chosen;
  }
}
