/** Pseudorandom indexes. Each server starts with the same seed, so that tests are repeatable. */
export class RandomIndexes {
  /** State of the generator, 32 bits, which determines all following indexes. */
  state = 1;

  /** Returns an integer of at least 0 and below `count`. */
  below(count: number): number {
    // Linear congruential generator of Numerical Recipes, whose upper bits are more random than its lower ones.
    this.state = (Math.imul(this.state, 1664525) + 1013904223) | 0;
    return Math.floor(((this.state >>> 0) / 2 ** 32) * count);
  }

  /**
   * Chooses items as HRANDFIELD and ZRANDMEMBER do.
   *
   * @param count 0 or more: maximum number of items, all different. Below 0: exactly -count items, which may repeat
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
