/** Stops asking a Redis that does not answer, and asks again once in a while. */
export class Breaker {
  private failures = 0;
  private openUntil = 0;
  private probing = false;

  /**
   * @param threshold failures in a row that open it
   * @param openMs how long it stays open before one call may try, ms
   * @param now monotonic clock, ms
   * @param changed told when it opens and when it closes again
   */
  constructor(
    private readonly threshold: number,
    private readonly openMs: number,
    private readonly now: () => number,
    private readonly changed: (state: 'opened' | 'closed') => void,
  ) {}

  get open(): boolean {
    return this.failures >= this.threshold;
  }

  /** Whether a call may be made now. While open, one call at a time may, after `openMs`. */
  enter(): boolean {
    if (!this.open) return true;
    if (this.probing || this.now() < this.openUntil) return false;
    this.probing = true;
    return true;
  }

  /** A call that had entered was answered. */
  succeeded(): void {
    // An answer to a call from before it opened says nothing new of a Redis that has gone since.
    if (this.open && !this.probing) return;
    const wasOpen = this.open;
    this.failures = 0;
    this.probing = false;
    if (wasOpen) this.changed('closed');
  }

  /** A call that had entered was not answered, or refused. */
  failed(): void {
    const wasOpen = this.open;
    this.failures += 1;
    this.probing = false;
    if (!this.open) return;
    this.openUntil = this.now() + this.openMs;
    if (!wasOpen) this.changed('opened');
  }
}
