import { defaultMaxListeners, getMaxListeners, setMaxListeners } from 'node:events';
import type { Lease } from '../lease/lease';

/** What may end an acquisition before Redis answers: the caller's signal, or the shutdown of the app. */
export class Ending {
  private readonly listeners = new Set<() => void>();
  private reason: { readonly error: unknown } | undefined;

  constructor(private readonly signal?: AbortSignal) {
    if (!signal) return;
    // Any number of acquisitions may have one signal.
    if (getMaxListeners(signal) === defaultMaxListeners) setMaxListeners(Infinity, signal);
    signal.addEventListener('abort', this.aborted);
  }

  /** Returns true once the acquisition has ended early. */
  get over(): boolean {
    return this.reason !== undefined;
  }

  /** Ends the acquisition with an error. The first error counts. */
  end(error: unknown): void {
    if (this.reason) return;
    this.reason = { error };
    for (const listener of this.listeners) listener();
  }

  /** Calls back at the end; at once if it has come. */
  onEnd(listener: () => void): void {
    this.listeners.add(listener);
    if (this.reason) listener();
  }

  /** Returns what `taking` returns, or throws at the end. A lease that comes after the end is released. */
  race(taking: Promise<Lease | undefined>): Promise<Lease | undefined> {
    return new Promise((resolve, reject) => {
      this.onEnd(() => reject((this.reason as { error: Error }).error));
      taking.then((lease) => {
        if (this.reason) lease?.release().catch(() => undefined);
        else resolve(lease);
      }, reject);
    });
  }

  /** Stops listening to the caller's signal. */
  close(): void {
    this.signal?.removeEventListener('abort', this.aborted);
  }

  private readonly aborted = (): void => this.end(this.signal?.reason);
}
