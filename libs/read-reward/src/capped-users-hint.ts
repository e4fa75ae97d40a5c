const FIRST_LOG2 = 8;
const LAST_LOG2 = 16;

/**
 * Users who were lately answered that their period is full: a hint of which script to send first, never an answer.
 *
 * Takes 1 KiB, and 256 KiB where many users are full: users whose hashes meet displace each other.
 * See DECISIONS.md: look-first-for-full-users
 */
export class FullUsers {
  private log2 = FIRST_LOG2;
  private tags = new Uint32Array(1 << FIRST_LOG2);
  private displaced = 0;

  /**
   * Whether the user was last noted as full.
   *
   * @param hash of the user
   * @param mark of the rule and the period
   */
  has(hash: number, mark: number): boolean {
    return this.tags[this.slotOf(hash, mark)] === (hash ^ mark) >>> 0;
  }

  /** Notes that the user has no room in this period, or has some. */
  note(hash: number, mark: number, full: boolean): void {
    const [slot, tag] = [this.slotOf(hash, mark), (hash ^ mark) >>> 0];
    const held = this.tags[slot];
    if (!full && held === tag) this.tags[slot] = 0;
    if (!full || held === tag) return;
    this.tags[slot] = tag;
    if (held !== 0 && this.log2 < LAST_LOG2) this.displace();
  }

  /** A larger table begins empty: what it forgets costs a hint. */
  private displace(): void {
    this.displaced += 1;
    if (this.displaced < this.tags.length / 4) return;
    this.log2 += 2;
    [this.tags, this.displaced] = [new Uint32Array(1 << this.log2), 0];
  }

  private slotOf(hash: number, mark: number): number {
    return Math.imul(hash ^ mark, 0x9e3779b1) >>> (32 - this.log2);
  }
}
