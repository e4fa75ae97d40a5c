import { time, type Timer } from './time';

/** Longest pause between two rings while the channel cannot be listened to, ms. */
const MUTE_RING_MS = 1_000;

/** Takes more microtasks than a promise of `listen` that waits for nothing. */
async function manyMicrotasks(): Promise<void> {
  for (let i = 0; i < 16; i++) await Promise.resolve();
}

/** The part of ScriptRegistry that a Bell needs. */
interface Channels {
  listen(key: string, listener: (message?: string) => void): Promise<() => void>;
}

/**
 * Listens to a sharded channel. Rings at each message, and whenever messages may have been missed: when a subscription has ended, when
 * a new one begins, and each second while there is none. So code that waits for the bell need not ask Redis periodically.
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
   * @param ring called with the text of each message, and without a text when messages may have been missed; its first argument is true if
   * the reason is that a subscription begins
   * @param failed called with the error when the channel could not be listened to
   */
  constructor(
    private readonly channels: Channels,
    private readonly channel: string,
    private readonly ring: (begins: boolean, message?: string) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /**
   * Listens, unless it does so already. Call it before each wait: ScriptRegistry calls a listener also once when its subscription has
   * ended, so after each ring a new call is needed. It costs no command while the subscription lasts.
   */
  listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    // If the subscription existed before, `listen` resolves in a few microtasks, and no message was missed. A new one needs a reply of
    // Redis, which comes later. A turn of the event loop is not a measure: it may include the reply.
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
        // The pause is random, so that not all ring at the same time.
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
