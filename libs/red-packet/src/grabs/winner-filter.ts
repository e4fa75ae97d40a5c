const BITS_PER_WINNER = 16;
const HASHES = 5;

/**
 * Bloom filter of the winners of an activity. Takes 2 to 4 bytes per winner, and at least 8. At most about one in 500 of the other users
 * is taken for a winner.
 */
export class WinnerFilter {
  private readonly words: Uint32Array;
  private readonly mask: number;

  /** @param winners number of winners that will be added; integer >= 0. If more are added, more other users are taken for winners */
  constructor(winners: number) {
    const bits = 2 ** Math.ceil(Math.log2(Math.max(winners * BITS_PER_WINNER, 64)));
    this.words = new Uint32Array(bits / 32);
    this.mask = bits - 1;
  }

  add(userId: string): void {
    const [start, step] = twoHashes(userId);
    for (let i = 0; i < HASHES; i++) {
      const bit = (start + Math.imul(i, step)) & this.mask;
      this.words[bit >>> 5] = (this.words[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  /** Returns true for each user who was added, and rarely for another one. */
  mayHave(userId: string): boolean {
    const [start, step] = twoHashes(userId);
    for (let i = 0; i < HASHES; i++) {
      const bit = (start + Math.imul(i, step)) & this.mask;
      if (((this.words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }
}

/**
 * Returns two hashes of 32 bits. The second hash cannot be divided by two. So its multiples reach every bit of the filter, whose size is a
 * power of two.
 */
function twoHashes(text: string): readonly [number, number] {
  let [one, two] = [0x811c9dc5, 0x9747b28c];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    one = Math.imul(one ^ unit, 0x01000193);
    two = Math.imul(two ^ unit, 0x85ebca6b);
    two ^= two >>> 13;
  }
  one = Math.imul(one ^ (one >>> 15), 0x2c1b3c6d);
  return [(one ^ (one >>> 13)) >>> 0, (two | 1) >>> 0];
}
