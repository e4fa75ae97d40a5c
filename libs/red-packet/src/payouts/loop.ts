import { time, type Timer } from '../../../internal/src';

/** Does some work again and again, with a pause after each time, until it is stopped. */
export class Loop {
  private running = Promise.resolve();
  private timer: Timer | undefined;
  private stopped = false;

  /** @param work must not reject @param pauseMs returns the length of the next pause, ms */
  constructor(
    private readonly work: () => Promise<void>,
    private readonly pauseMs: () => number,
  ) {}

  start(): void {
    this.running = this.work().finally(() => {
      if (!this.stopped) this.timer = time.setTimer(() => this.start(), this.pauseMs());
    });
  }

  /** Waits for the work that is being done, and does no more. */
  async stop(): Promise<void> {
    this.stopped = true;
    time.clearTimer(this.timer);
    await this.running;
  }
}
