import { nextTurn, time, type Timer } from './time';

/** Longest pause between two rings while the channel cannot be listened to, ms. */
const MUTE_RING_MS = 1_000;

/** The part of ScriptRegistry that a Bell needs. */
interface Channels {
  listen(key: string, listener: () => void): Promise<() => void>;
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

  /**
   * @param ring called at each message, and when messages may have been missed
   * @param failed called with the error when the channel could not be listened to
   */
  constructor(
    private readonly channels: Channels,
    private readonly channel: string,
    private readonly ring: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /**
   * Listens, unless it does so already. Call it before each wait: ScriptRegistry calls a listener also once when its subscription has
   * ended, so after each ring a new call is needed. It costs no command while the subscription lasts.
   */
  listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    const heard = (): void => {
      this.listening = false;
      this.ring();
    };
    // If the subscription existed before, `listen` resolves before the next turn of the event loop, and no message was missed.
    let isNew = false;
    nextTurn(() => (isNew = true));
    this.channels.listen(this.channel, heard).then(
      (stop) => {
        this.stop = stop;
        if (this.closed) stop();
        // A new subscription did not get messages that were published before.
        else if (isNew) this.ring();
      },
      (error: unknown) => {
        if (this.closed) return;
        this.failed(error);
        // The pause is random, so that not all ring at the same time.
        this.retry = time.setTimer(heard, MUTE_RING_MS * (0.8 + Math.random() * 0.2));
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
