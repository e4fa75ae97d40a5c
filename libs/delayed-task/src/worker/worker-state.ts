import { Retries } from '../../../internal/src';
import { events, type DelayedTaskEvents } from '../delayed-task.events';

type Call = DelayedTaskEvents['callFailed']['during'];

/** State that the parts of a worker share: whether the worker closes, and the work in flight. */
export class WorkerState {
  /** True when no more tasks are taken. */
  closing = false;
  private isStopped = false;
  private readonly calls = new Retries<Call>((during, error) => this.reportError(during, error));
  private readonly inFlight = new Set<Promise<unknown>>();

  constructor(private readonly queue: string) {}

  get stopped(): boolean {
    return this.isStopped;
  }

  /** Ends the repetition of calls. After this, no call is repeated. */
  stop(): void {
    this.isStopped = true;
    this.calls.close();
  }

  /** Makes `settled` wait for `work`. */
  track(work: Promise<unknown>): void {
    this.inFlight.add(work);
    const forget = (): void => void this.inFlight.delete(work);
    work.then(forget, forget);
  }

  async settled(): Promise<void> {
    while (this.inFlight.size > 0) await Promise.allSettled(this.inFlight);
  }

  reportError(during: Call, error: unknown): void {
    events.callFailed.publish(() => ({ queue: this.queue, during, error }));
  }

  /**
   * Repeats a call until it succeeds or the worker has stopped. Only for scripts that are harmless twice.
   *
   * @returns undefined if the worker stopped first
   */
  untilAnswered<T>(during: Call, call: () => Promise<T>): Promise<T | undefined> {
    return this.calls.run(during, () => this.stopped, call);
  }
}
