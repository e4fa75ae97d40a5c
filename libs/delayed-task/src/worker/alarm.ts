/** One sleeper's sleep, which others may end; a ring before the sleep counts too. */
export class Alarm {
  private rung = false;
  private wake: (() => void) | undefined;

  /** Forgets what rang before. */
  reset(): void {
    this.rung = false;
  }

  /** Ends the present or the next sleep. */
  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** Sleeps for `ms`, or until it rings. */
  async sleep(ms: number): Promise<void> {
    if (this.rung) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, Math.ceil(ms)));
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = undefined;
  }
}
