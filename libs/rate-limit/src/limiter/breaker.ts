/** Circuit breaker: stops the calls to Redis after consecutive failures, and lets single calls through as a test. */
export class Breaker {
  private failures = 0;
  private openUntilMs = 0;
  private probing = false;

  /**
   * @param threshold consecutive failures that open the breaker
   * @param openMs time after the last failure until the open breaker lets one call through, ms
   * @param now monotonic clock, ms
   * @param changed called when the breaker opens and when it closes
   */
  constructor(
    private readonly threshold: number,
    private readonly openMs: number,
    private readonly now: () => number,
    private readonly changed: (state: 'opened' | 'closed') => void,
  ) {}

  /** True while calls are stopped, except test calls. */
  get open(): boolean {
    return this.failures >= this.threshold;
  }

  /**
   * Returns true if a call may be made now. While the breaker is open, it allows a test call `openMs` after the last failure,
   * and no other until a call has ended.
   */
  enter(): boolean {
    if (this.failures < this.threshold) return true;
    if (this.probing || this.now() < this.openUntilMs) return false;
    this.probing = true;
    return true;
  }

  succeeded(): void {
    if (this.failures === 0) return;
    // This call was made before the breaker opened. Its success does not show that Redis is available now.
    if (this.open && !this.probing) return;
    const wasOpen = this.open;
    this.failures = 0;
    this.probing = false;
    if (wasOpen) this.changed('closed');
  }

  /** Ends a call that did not reach Redis, so that it shows nothing about Redis. The next call may be the test call. */
  skipped(): void {
    this.probing = false;
  }

  failed(): void {
    const wasOpen = this.open;
    this.failures += 1;
    this.probing = false;
    if (!this.open) return;
    this.openUntilMs = this.now() + this.openMs;
    if (!wasOpen) this.changed('opened');
  }
}
