import type { ScriptRegistry } from 'luanest/script-registry';
import { messageOf } from '../../../internal/src';

/**
 * Watches the stream of another program by keyspace notifications, if the server sends them. Calls `added` when an entry was added, and
 * when notifications may have been lost. Without notifications, or without the permission to read their channel, this class does
 * nothing, and the reader only polls.
 */
export class KeyEvents {
  private listening = false;
  private closed = false;
  private stop: (() => void) | undefined;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly key: string,
    private readonly added: () => void,
  ) {}

  /**
   * Subscribes, unless there is a subscription already. Call this method before each read. It sends no command while the subscription
   * works.
   */
  listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    this.registry.listenToKey(this.key, this.heard).then(
      (stop) => {
        this.stop = stop;
        if (this.closed) stop();
        // Entries may have been added before the subscription began.
        else this.added();
      },
      // After NOPERM, there is no other attempt: the Redis user may not read the channel.
      (error: unknown) => (this.listening = messageOf(error).includes('NOPERM')),
    );
  }

  close(): void {
    this.closed = true;
    this.stop?.();
  }

  private readonly heard = (event?: string): void => {
    if (event === undefined) this.listening = false;
    // The reads of luanest also cause notifications, such as `xgroup-createconsumer`. These are ignored.
    if (event === undefined || event === 'xadd') this.added();
  };
}
