const SLOTS_LOG2 = 16;

/**
 * Users who were lately answered that their period is full: a hint of which script to send first, never an answer.
 *
 * Takes 256 KiB however many there are: users whose hashes meet displace each other.
 */
export class FullUsers {
  private readonly tags = new Uint32Array(1 << SLOTS_LOG2);

  /**
   * Whether the user was last noted as full.
   *
   * @param hash of the user
   * @param mark of the rule and the period
   */
  has(hash: number, mark: number): boolean {
    return this.tags[slotOf(hash, mark)] === (hash ^ mark) >>> 0;
  }

  /** Notes that the user has no room in this period, or has some. */
  note(hash: number, mark: number, full: boolean): void {
    if (full) this.tags[slotOf(hash, mark)] = hash ^ mark;
    else if (this.has(hash, mark)) this.tags[slotOf(hash, mark)] = 0;
  }
}

function slotOf(hash: number, mark: number): number {
  return Math.imul(hash ^ mark, 0x9e3779b1) >>> (32 - SLOTS_LOG2);
}
