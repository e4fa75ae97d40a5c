import { defaultMaxListeners, getMaxListeners, setMaxListeners } from 'node:events';
import type { Lease } from '../lease/lease';

/** Early end of an acquisition, by the caller's signal or by the shutdown of the app. It does not wait for Redis. */
export class Cancellation {
  private readonly listeners = new Set<() => void>();
  private reason: { readonly error: unknown } | undefined;

  /** @param signal signal of the caller, which cancels the acquisition. Call `close` when the acquisition has ended */
  constructor(private readonly signal?: AbortSignal) {
    if (!signal) return;
    // Callers may pass one signal to many acquisitions at once. Node would warn at the eleventh listener.
    if (hasDefaultLimit(signal)) setMaxListeners(Infinity, signal);
    signal.addEventListener('abort', this.aborted);
  }

  get cancelled(): boolean {
    return this.reason !== undefined;
  }

  cancel(error: unknown): void {
    if (this.reason) return;
    this.reason = { error };
    for (const listener of this.listeners) listener();
  }

  /** Calls `listener` when the acquisition is cancelled; at once if it is cancelled already. */
  onCancel(listener: () => void): void {
    this.listeners.add(listener);
    if (this.reason) listener();
  }

  /**
   * Returns the result of `acquiring`. A lease that arrives after the cancellation is released.
   *
   * @throws the error of the cancellation, as soon as the acquisition is cancelled
   */
  race(acquiring: Promise<Lease | undefined>): Promise<Lease | undefined> {
    return new Promise((resolve, reject) => {
      this.onCancel(() => reject((this.reason as { error: Error }).error));
      acquiring.then((lease) => {
        if (this.reason) lease?.release().catch(() => undefined);
        else resolve(lease);
      }, reject);
    });
  }

  close(): void {
    this.signal?.removeEventListener('abort', this.aborted);
  }

  private readonly aborted = (): void => this.cancel(this.signal?.reason);
}

/** Node 20 throws for a signal without a limit, such as `Lock.signal`, and for one that is not of Node. Neither warns. */
function hasDefaultLimit(signal: AbortSignal): boolean {
  try {
    return getMaxListeners(signal) === defaultMaxListeners;
  } catch {
    return false;
  }
}
