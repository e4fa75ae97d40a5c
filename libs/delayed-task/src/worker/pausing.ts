import { Bell } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import type { TaskQueue } from '../queue/task-queue';
import type { Step } from './settlements';

/** Knows for a worker whether its queue is paused. Until Redis has replied for the first time, the queue counts as paused. */
export class Pausing {
  private isPaused = true;
  private readonly bell: Bell;
  private readonly waiting: (() => void)[] = [];
  private looking = false;
  private again = false;

  constructor(
    private readonly queue: TaskQueue,
    private readonly calls: Calls<Step>,
  ) {
    const failed = (error: unknown): void => calls.reportError('subscribe', error);
    this.bell = new Bell(queue.registry, queue.partitions.paused, () => this.look(), failed);
  }

  get paused(): boolean {
    return this.isPaused && !this.calls.closing;
  }

  /**
   * Called when this process has paused the queue. Stops taking tasks at once, and then asks Redis, because another process may have
   * resumed the queue meanwhile.
   */
  hold(): void {
    this.isPaused = true;
    this.look();
  }

  /** Resolves when the queue is not paused any more, or when the worker shuts down. */
  resumed(): Promise<void> {
    return new Promise((resolve) => (this.paused ? this.waiting.push(resolve) : resolve()));
  }

  close(): void {
    this.bell.close();
    this.release();
  }

  /**
   * Asks Redis whether the queue is paused. If the method is called again during that, Redis is asked once more, because the answer may be
   * outdated.
   */
  look(): void {
    this.again = true;
    if (this.looking) return;
    this.looking = true;
    this.calls.track(this.read().finally(() => (this.looking = false)));
  }

  private async read(): Promise<void> {
    while (this.again && !this.calls.closing) {
      this.again = false;
      // The subscription begins before the read, so that no change after the read is missed.
      this.bell.listen();
      const paused = await this.calls.untilAnswered('pause', () => this.queue.pause('read'));
      if (paused !== undefined) this.isPaused = paused;
    }
    if (!this.paused) this.release();
  }

  private release(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
