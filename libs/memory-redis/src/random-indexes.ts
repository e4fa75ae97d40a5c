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
}
