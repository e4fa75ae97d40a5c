/** Base-2 logarithm of the number of entries of the table: FIRST_LOG2 at first, LAST_LOG2 at most. */
const FIRST_LOG2 = 8;
const LAST_LOG2 = 16;

/**
 * Set of users whose period was full at their last call. ReadRecorder uses it only to choose which script to send first. So a wrong or
 * missing entry costs time, but changes no result.
 *
 * The set takes 1 KiB of memory, and up to 256 KiB for many users. If the hashes of two users collide, the later user replaces the
 * earlier one.
 * See DECISIONS.md: look-first-for-full-users
 */
export class CappedUsersHint {
  private log2 = FIRST_LOG2;
  private tags = new Uint32Array(1 << FIRST_LOG2);
  private collisions = 0;

  /**
   * Returns true if the user's period was probably full at the last call of `note` for this user.
   *
   * @param hash hash of the user id
   * @param mark hash of rule, zone and period
   */
  has(hash: number, mark: number): boolean {
    return this.tags[this.slotOf(hash, mark)] === (hash ^ mark) >>> 0;
  }

  /** Adds the user if the period is full, otherwise removes the user. The other parameters are those of `has`. */
  note(hash: number, mark: number, full: boolean): void {
    const [slot, tag] = [this.slotOf(hash, mark), (hash ^ mark) >>> 0];
    const held = this.tags[slot];
    if (!full && held === tag) this.tags[slot] = 0;
    if (!full || held === tag) return;
    this.tags[slot] = tag;
    if (held !== 0 && this.log2 < LAST_LOG2) this.countCollision();
  }

  /** Counts a collision of hashes. After many collisions, an empty table of four times the size replaces the table. */
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
