import { time, type Timer } from '../../../internal/src';

/** Does some work again and again, with a pause after each time, until it is stopped. */
export class Loop {
  private running: Promise<unknown> = Promise.resolve();
  private timer: Timer | undefined;
  private stopped = false;

  /** @param work may return a promise; must neither throw nor reject @param pauseMs returns the length of the next pause, ms */
  constructor(
    private readonly work: () => unknown,
    private readonly pauseMs: () => number,
  ) {}

  start(): void {
    this.running = Promise.resolve(this.work()).finally(() => {
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
