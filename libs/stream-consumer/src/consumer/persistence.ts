import { Logger } from '@nestjs/common';
import { events, type StreamErrorEvent } from '../stream-consumer.events';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** While Redis fails, how often that is logged, ms. */
const LOGGED_EVERY_MS = 30_000;

/** Calls that are made again until Redis answers: their scripts give a replay the first answer, or are harmless twice. */
export class Persistence {
  private readonly outstanding = new Set<Promise<unknown>>();
  private readonly waits = new Set<() => void>();
  private readonly logger = new Logger('StreamConsumer');
  private loggedAt = -Infinity;
  private closed = false;

  constructor(
    private readonly stream: string,
    private readonly group: string,
  ) {}

  /** Calls that are out. */
  get size(): number {
    return this.outstanding.size;
  }

  /**
   * @param until whether there is no use in calling again
   * @returns undefined when it was given up
   */
  async run<T>(
    during: StreamErrorEvent['during'],
    until: () => boolean,
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    const running = this.repeat(during, until, call);
    this.outstanding.add(running);
    try {
      return await running;
    } finally {
      this.outstanding.delete(running);
    }
  }

  /** Makes a call that something else will make again when it fails; undefined when it did. */
  async once<T>(during: StreamErrorEvent['during'], call: () => Promise<T>): Promise<T | undefined> {
    let asked = false;
    return this.run(
      during,
      () => asked,
      () => {
        asked = true;
        return call();
      },
    );
  }

  /** Ends when nothing is out. */
  async settled(): Promise<void> {
    while (this.outstanding.size > 0) await Promise.allSettled(this.outstanding);
  }

  /** Makes no call again. */
  close(): void {
    this.closed = true;
    for (const wake of [...this.waits]) wake();
  }

  private async repeat<T>(
    during: StreamErrorEvent['during'],
    until: () => boolean,
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.closed && !until(); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await call();
      } catch (error) {
        this.tell(during, error);
        if (until()) return undefined;
      }
      await this.pause(pauseMs);
    }
    return undefined;
  }

  private tell(during: StreamErrorEvent['during'], error: unknown): void {
    const { stream, group } = this;
    events.error.publish(() => ({ stream, group, during, error }));
    if (performance.now() - this.loggedAt < LOGGED_EVERY_MS) return;
    this.loggedAt = performance.now();
    this.logger.warn(`${stream}/${group}: ${during} failed and is tried again: ${String(error)}`);
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.waits.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.waits.add(wake);
    });
  }
}
