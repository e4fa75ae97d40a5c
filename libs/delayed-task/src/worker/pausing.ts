import { Bell } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import type { TaskQueue } from '../queue/task-queue';
import type { Step } from './settlements';

/** Tracks for a worker if its queue is paused. Until Redis has replied for the first time, it counts as paused. */
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

  /** This process has paused the queue, so it takes nothing more. Another process may have resumed the queue already. */
  hold(): void {
    this.isPaused = true;
    this.look();
  }

  /** Resolves when the queue is not paused any more, or the worker closes. */
  resumed(): Promise<void> {
    return new Promise((resolve) => (this.paused ? this.waiting.push(resolve) : resolve()));
  }

  close(): void {
    this.bell.close();
    this.release();
  }

  /** Reads the state, and once more if it may have changed meanwhile. */
  look(): void {
    this.again = true;
    if (this.looking) return;
    this.looking = true;
    this.calls.track(this.read().finally(() => (this.looking = false)));
  }

  private async read(): Promise<void> {
    while (this.again && !this.calls.closing) {
      this.again = false;
      // Listens first: a change after the reply is a message.
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
