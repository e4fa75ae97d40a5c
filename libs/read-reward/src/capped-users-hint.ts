/** The table has 2^FIRST_LOG2 entries at first, and 2^LAST_LOG2 at most. */
const FIRST_LOG2 = 8;
const LAST_LOG2 = 16;

/**
 * Remembers users who had reached the limit of their period at their last call. This only decides which script is called first, so a wrong
 * or missing entry costs time, but changes no result.
 *
 * The memory is 1 KiB, and up to 256 KiB for many users. If two users get the same table entry, the later one replaces the earlier one.
 * See DECISIONS.md: look-first-for-full-users
 */
export class CappedUsersHint {
  private log2 = FIRST_LOG2;
  private tags = new Uint32Array(1 << FIRST_LOG2);
  private collisions = 0;

  /**
   * Returns true if the user had probably reached the limit of this period at the last call.
   *
   * @param hash hash of the user id
   * @param mark hash of rule, zone and period
   */
  has(hash: number, mark: number): boolean {
    return this.tags[this.slotOf(hash, mark)] === (hash ^ mark) >>> 0;
  }

  /**
   * Remembers a user whose period is full; forgets the user if the period is not full. The parameters `hash` and `mark` are those of `has`.
   */
  note(hash: number, mark: number, full: boolean): void {
    const [slot, tag] = [this.slotOf(hash, mark), (hash ^ mark) >>> 0];
    const held = this.tags[slot];
    if (!full && held === tag) this.tags[slot] = 0;
    if (!full || held === tag) return;
    this.tags[slot] = tag;
    if (held !== 0 && this.log2 < LAST_LOG2) this.countCollision();
  }

  /** Counts that a user took the entry of another user. If this happens often, an empty table of four times the size replaces the table. */
  private countCollision(): void {
    this.collisions += 1;
    if (this.collisions < this.tags.length / 4) return;
    this.log2 += 2;
    [this.tags, this.collisions] = [new Uint32Array(1 << this.log2), 0];
  }

  private slotOf(hash: number, mark: number): number {
    return Math.imul(hash ^ mark, 0x9e3779b1) >>> (32 - this.log2);
  }
}
