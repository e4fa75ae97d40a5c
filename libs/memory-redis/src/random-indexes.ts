/** Indexes as if by chance. Each server begins with the same ones, so that tests can be repeated. */
export class RandomIndexes {
  /** 32 bits, from which all that follow result. */
  state = 1;

  /** Returns an integer from 0 to `count` (exclusive). */
  below(count: number): number {
    // Numerical Recipes' generator; its upper bits are the good ones.
    this.state = (Math.imul(this.state, 1664525) + 1013904223) | 0;
    return Math.floor(((this.state >>> 0) / 2 ** 32) * count);
  }

  /**
   * Chooses as HRANDFIELD and ZRANDMEMBER do.
   *
   * @param count up to so many different items; below 0, exactly -count items, of which some may be equal
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
