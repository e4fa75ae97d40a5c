import { MAX_TIMER_MS, time, type Timer } from '../../../internal/src';

/** Sleeps and pauses that `ring` ends early. If `ring` was called after the last `reset`, they end at once. */
export class Alarm {
  private rung = false;
  private wake: (() => void) | undefined;

  reset(): void {
    this.rung = false;
  }

  /** Ends the current sleep or pause, or the next one before a `reset`. */
  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** Sleeps until something is due. @param ms time from now; more than a timer can wait, such as Infinity, ends earlier */
  sleep(ms: number): Promise<void> {
    return this.wait((end) => time.setTimer(end, Math.min(MAX_TIMER_MS, Math.max(1, Math.ceil(ms)))));
  }

  /** Waits before the next try of something that failed. */
  pause(ms: number): Promise<void> {
    return this.wait((end) => time.setTimeLimit(end, Math.ceil(ms)));
  }

  private async wait(start: (end: () => void) => Timer): Promise<void> {
    if (this.rung) return;
    await new Promise<void>((resolve) => {
      const timer = start(resolve);
      this.wake = () => {
        time.clearTimer(timer);
        resolve();
      };
    });
    this.wake = undefined;
  }
}
