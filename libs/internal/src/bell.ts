import { time, type Timer } from './time';

/** Longest pause between two calls of `ring` while the subscription fails, ms. */
const MUTE_RING_MS = 1_000;

/** Waits for 16 microtasks: more than `listen` of ScriptRegistry needs if the subscription exists already. */
async function manyMicrotasks(): Promise<void> {
  for (let i = 0; i < 16; i++) await Promise.resolve();
}

/** The part of ScriptRegistry that a Bell needs. */
interface Channels {
  listen(key: string, listener: (message?: string) => void): Promise<() => void>;
}

/**
 * Listens to a sharded Pub/Sub channel, and calls `ring` at each message. Also calls `ring` whenever messages may have been missed: when
 * the subscription has ended, when a new subscription begins, and each second while there is no subscription. So code that waits for
 * `ring` need not poll Redis.
 */
export class Bell {
  private listening = false;
  private stop: (() => void) | undefined;
  private retry: Timer | undefined;
  private closed = false;

  private readonly heard = (message?: string): void => {
    this.listening = false;
    this.ring(false, message);
  };

  /**
   * @param ring called with the text of each message, and without a text when messages may have been missed. `begins` is true if it is
   *   called because a subscription begins
   * @param failed called with the error when a subscription failed
   */
  constructor(
    private readonly channels: Channels,
    private readonly channel: string,
    private readonly ring: (begins: boolean, message?: string) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /**
   * Listens to the channel, unless this Bell listens already. Call `listen` before each wait, because each call of `ring` may mean that
   * the subscription has ended. While the subscription exists, `listen` sends no command.
   */
  listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    // If the subscription existed before, `listen` resolves after a few microtasks, and no message was missed. A new subscription needs a
    // reply of Redis, which takes longer. Waiting for the next turn of the event loop would not show the difference, because the reply
    // may arrive in this turn.
    let isNew = false;
    void manyMicrotasks().then(() => (isNew = true));
    this.channels.listen(this.channel, this.heard).then(
      (stop) => {
        this.stop = stop;
        if (this.closed) stop();
        // A new subscription did not get messages that were published before.
        else if (isNew) this.ring(true);
      },
      (error: unknown) => {
        if (this.closed) return;
        this.failed(error);
        // The pause is random, so that not all processes call `ring` at the same time.
        this.retry = time.setTimer(() => this.heard(), MUTE_RING_MS * (0.8 + Math.random() * 0.2));
        this.retry.unref();
      },
    );
  }

  close(): void {
    this.closed = true;
    time.clearTimer(this.retry);
    this.stop?.();
    this.stop = undefined;
  }
}
