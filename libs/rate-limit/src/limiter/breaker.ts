/** Circuit breaker: stops calls to a Redis that does not answer, and lets single calls through to test it. */
export class Breaker {
  private failures = 0;
  private openUntilMs = 0;
  private probing = false;

  /**
   * @param threshold consecutive failures that open the breaker
   * @param openMs time that it stays open before it lets one call through, ms
   * @param now monotonic clock, ms
   * @param changed called when the breaker opens and when it closes
   */
  constructor(
    private readonly threshold: number,
    private readonly openMs: number,
    private readonly now: () => number,
    private readonly changed: (state: 'opened' | 'closed') => void,
  ) {}

  /** True from the failure that opens the breaker until a call succeeds. */
  get open(): boolean {
    return this.failures >= this.threshold;
  }

  /** Returns true if a call may be made now. While the breaker is open, that is one call at a time, every `openMs`. */
  enter(): boolean {
    if (!this.open) return true;
    if (this.probing || this.now() < this.openUntilMs) return false;
    this.probing = true;
    return true;
  }

  /** Records that a call succeeded. */
  succeeded(): void {
    // The reply to a call from before the breaker opened does not show that Redis is available now.
    if (this.open && !this.probing) return;
    const wasOpen = this.open;
    this.failures = 0;
    this.probing = false;
    if (wasOpen) this.changed('closed');
  }

  /** Records that a call failed or timed out. */
  failed(): void {
    const wasOpen = this.open;
    this.failures += 1;
    this.probing = false;
    if (!this.open) return;
    this.openUntilMs = this.now() + this.openMs;
    if (!wasOpen) this.changed('opened');
  }
}
