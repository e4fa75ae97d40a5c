import type { ScriptRegistry } from 'luanest/script-registry';
import { events } from '../lock.events';

// See DECISIONS.md: releases-wake-by-sharded-channel
/** Subscription to the releases of one lock. */
export class ReleaseSubscription {
  private unsubscribe: (() => void) | undefined;
  private opening: Promise<void> | undefined;
  private closed = false;

  /** @param onRelease called at each release, and when a release may have been missed */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly name: string,
    private readonly key: string,
    private readonly onRelease: () => void,
  ) {}

  /** True while releases arrive. If false, waiters only poll. */
  get active(): boolean {
    return this.unsubscribe !== undefined;
  }

  /**
   * Subscribes, also again after the connection was lost; has no effect while the subscription is active. Returns after
   * `timeoutMs` at the latest. A subscription that succeeds later calls `onRelease`, since a release may have been missed.
   */
  async open(timeoutMs: number): Promise<void> {
    let late = false;
    this.opening ??= this.subscribe().then((subscribed) => {
      this.opening = undefined;
      if (late && subscribed) this.onRelease();
    });
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.opening, new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)))]);
    clearTimeout(timer);
    late = true;
  }

  close(): void {
    this.closed = true;
    this.drop();
  }

  private drop(): void {
    this.unsubscribe?.();
    this.unsubscribe = undefined;
  }

  /** Returns true if the subscription is active. */
  private async subscribe(): Promise<boolean> {
    let current = true;
    try {
      const stop = await this.registry.listen(this.key, () => {
        if (current) this.onRelease();
      });
      this.unsubscribe?.();
      this.unsubscribe = () => {
        current = false;
        stop();
      };
      if (this.closed) this.drop();
      return !this.closed;
    } catch (error) {
      this.drop();
      events.callFailed.publish(() => ({ name: this.name, during: 'subscribe', error }));
      return false;
    }
  }
}
