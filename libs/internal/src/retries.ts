import { time } from './time';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Makes calls to Redis, and repeats those that fail. Use this class only for scripts that are harmless if they run twice, or that return
 * the first result again. The pauses between two tries grow from 20 ms to 1 s, and are shortened at random by up to half.
 */
export class Retries<During extends string> {
  private readonly outstanding = new Set<Promise<unknown>>();
  private readonly waits = new Set<() => void>();
  private closed = false;

  /** @param failed function to call after each failure, with the name of the step that failed */
  constructor(private readonly failed: (during: During, error: unknown) => void) {}

  /** Number of calls that have not ended, including those that wait to be repeated. */
  get size(): number {
    return this.outstanding.size;
  }

  /**
   * Makes a call. Repeats the call until it succeeds, or `until` returns true, or `close` is called.
   *
   * @param during name of the step, which `failed` gets
   * @param until function that returns true when the call need not be repeated any more
   * @returns the result of the call; undefined if no call succeeded
   */
  async run<T>(during: During, until: () => boolean, call: () => Promise<T>): Promise<T | undefined> {
    const running = this.repeat(during, until, call);
    this.outstanding.add(running);
    try {
      return await running;
    } finally {
      this.outstanding.delete(running);
    }
  }

  /**
   * Makes a call only once. Use it for work that other code will try again later.
   *
   * @returns the result of the call; undefined if the call failed, or if `close` was called before
   */
  async once<T>(during: During, call: () => Promise<T>): Promise<T | undefined> {
    let called = false;
    return this.run(
      during,
      () => called,
      () => {
        called = true;
        return call();
      },
    );
  }

  /** Resolves when no call is in flight, and no call waits to be repeated. */
  async settled(): Promise<void> {
    while (this.outstanding.size > 0) await Promise.allSettled(this.outstanding);
  }

  /** Ends all pauses between tries, and prevents further calls. */
  close(): void {
    this.closed = true;
    for (const wake of [...this.waits]) wake();
  }

  private async repeat<T>(during: During, until: () => boolean, call: () => Promise<T>): Promise<T | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.closed && !until(); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await call();
      } catch (error) {
        this.failed(during, error);
        if (this.closed || until()) return undefined;
      }
      await this.pause(pauseMs * (0.5 + Math.random() / 2));
    }
    return undefined;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        time.clearTimer(timer);
        this.waits.delete(wake);
        resolve();
      };
      const timer = time.setTimeLimit(wake, ms);
      this.waits.add(wake);
    });
  }
}
