import { Bell } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import type { TaskQueue } from '../queue/task-queue';
import type { Step } from './settlements';

/** Tracks for a worker if its queue is paused. Until Redis has replied for the first time, the queue counts as paused. */
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
   * Called when this process has paused the queue. Stops taking tasks at once. Then reads the state, because another process may have
   * resumed the queue already.
   */
  hold(): void {
    this.isPaused = true;
    this.look();
  }

  /** Resolves when the queue is no longer paused, or the shutdown of the worker begins. */
  resumed(): Promise<void> {
    return new Promise((resolve) => (this.paused ? this.waiting.push(resolve) : resolve()));
  }

  close(): void {
    this.bell.close();
    this.release();
  }

  /**
   * Reads from Redis if the queue is paused. If `look` is called again during the read, reads once more after it, because the state may
   * have changed.
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
      // Subscribes before the read, so that a message reports each change after the reply.
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
