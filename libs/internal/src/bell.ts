import { time, type Timer } from './time';

/** Longest pause between a failed subscription and the next call of `ring`, ms. */
const MUTE_RING_MS = 1_000;

/** Waits for 16 microtasks. `ScriptRegistry.listen` resolves in fewer if its subscription exists already. */
async function manyMicrotasks(): Promise<void> {
  for (let i = 0; i < 16; i++) await Promise.resolve();
}

interface Channels {
  listen(key: string, listener: (message?: string) => void): Promise<() => void>;
}

/**
 * Wakes code that waits for a change in Redis, so that the code need not poll. A Bell listens to a sharded Pub/Sub channel, and calls
 * `ring` at each message. It also calls `ring` whenever it may have missed a message: when the subscription ends or begins, and about once
 * a second while there is no subscription.
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
   * @param ring function to call with the text of each message, or without a text if messages may have been missed. `begins` is true if a
   *   subscription has just begun
   * @param failed function to call with the error when a subscription fails
   */
  constructor(
    private readonly channels: Channels,
    private readonly channel: string,
    private readonly ring: (begins: boolean, message?: string) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /**
   * Subscribes to the channel. Does nothing while the subscription exists. Call `listen` before each wait, because the subscription may
   * have ended since the last wait.
   */
  listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    // `listen` of ScriptRegistry returns a promise. For an existing subscription, the promise resolves within 16 microtasks. For a new one,
    // it resolves later, after a reply of Redis, and messages may have been missed. A wait for the next turn of the event loop would be too
    // long to separate the two cases: the reply may arrive in that turn.
    let isNew = false;
    void manyMicrotasks().then(() => (isNew = true));
    this.channels.listen(this.channel, this.heard).then(
      (stop) => {
        this.stop = stop;
        if (this.closed) stop();
        // Messages that were published before the subscription began are lost.
        else if (isNew) this.ring(true);
      },
      (error: unknown) => {
        if (this.closed) return;
        this.failed(error);
        // The random part keeps many processes from asking Redis at the same moment.
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
