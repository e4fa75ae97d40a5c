import { Retries } from '../../internal/src';

/** The calls of a worker to Redis, and its other work in flight, which a shutdown waits for. */
export class Calls<During extends string> extends Retries<During> {
  /** True when no more work is taken. */
  closing = false;
  private isStopped = false;
  private readonly inFlight = new Set<Promise<unknown>>();

  /** @param reportError called after each failure of a call, with the name of its step */
  constructor(readonly reportError: (during: During, error: unknown) => void) {
    super(reportError);
  }

  get stopped(): boolean {
    return this.isStopped;
  }

  /** Ends the repetition of calls. After this, no call is repeated. */
  stop(): void {
    this.isStopped = true;
    this.close();
  }

  /** Makes `settled` wait for `work`. */
  track(work: Promise<unknown>): void {
    this.inFlight.add(work);
    const forget = (): void => void this.inFlight.delete(work);
    work.then(forget, forget);
  }

  /** Resolves when no call and no tracked work is in flight. */
  override async settled(): Promise<void> {
    while (this.size > 0 || this.inFlight.size > 0) {
      await super.settled();
      await Promise.allSettled(this.inFlight);
    }
  }

  /**
   * Repeats a call until it succeeds or the worker has stopped. Only for scripts that are harmless twice.
   *
   * @returns undefined if the worker stopped first
   */
  untilAnswered<T>(during: During, call: () => Promise<T>): Promise<T | undefined> {
    return this.run(during, () => this.isStopped, call);
  }
}
