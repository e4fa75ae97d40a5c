/** A sleep that `ring` ends early. If `ring` was called after the last `reset`, the sleep ends at once. */
export class Alarm {
  private rung = false;
  private wake: (() => void) | undefined;

  reset(): void {
    this.rung = false;
  }

  /** Ends the current or the next sleep. */
  ring(): void {
    this.rung = true;
    this.wake?.();
  }

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
