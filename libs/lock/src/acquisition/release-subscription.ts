import type { ScriptRegistry } from 'luanest/script-registry';
import { endsWithin } from '../../../internal/src';
import { events } from '../lock.events';

/**
 * Subscription to the sharded channel on which scripts wake the callers that wait for one lock.
 * See DECISIONS.md: releases-wake-by-sharded-channel
 */
export class ReleaseSubscription {
  private unsubscribe: (() => void) | undefined;
  private opening: Promise<void> | undefined;
  private closed = false;

  /** @param onRelease called at each message of the channel, and when messages may have been missed */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly name: string,
    private readonly key: string,
    private readonly onRelease: () => void,
  ) {}

  /** True if the last attempt to subscribe succeeded. Otherwise waiters only poll. */
  get active(): boolean {
    return this.unsubscribe !== undefined;
  }

  /**
   * Subscribes, at each call again unless an earlier call still does, because the connection may have been lost. Returns after
   * `timeoutMs` at the latest. If the subscription succeeds after that, `onRelease` is called, because a release may have been
   * missed.
   */
  async open(timeoutMs: number): Promise<void> {
    let late = false;
    this.opening ??= this.subscribe().then((subscribed) => {
      this.opening = undefined;
      if (late && subscribed) this.onRelease();
    });
    await endsWithin(timeoutMs, this.opening);
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

  /** Returns true if the subscription succeeded and is still wanted. */
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
