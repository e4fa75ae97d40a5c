import { time } from '../../../internal/src';

/** A sleep that another function can end early. */
export class Sleeper {
  private woken = false;
  private endSleep: (() => void) | undefined;

  /** Sleeps for at most `ms`. Returns at once if `wake` was called since the last sleep. */
  async sleep(ms: number): Promise<void> {
    if (!this.woken) {
      await new Promise<void>((resolve) => {
        const timer = time.setTimer(resolve, ms);
        this.endSleep = () => {
          time.clearTimer(timer);
          resolve();
        };
      });
    }
    this.woken = false;
    this.endSleep = undefined;
  }

  /** Ends the current sleep; without one, the next sleep. */
  wake(): void {
    this.woken = true;
    this.endSleep?.();
  }
}
