import type { ScriptRegistry } from 'luanest/script-registry';
import { messageOf } from '../../../internal/src';

/**
 * Watches a stream of another program by keyspace notifications, if the server sends them. Calls `added` when an entry was added, and when
 * notifications may have been lost. If the server sends none, or the Redis user may not read them, the reader only polls.
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
   * Subscribes to the notifications, unless a subscription exists. Call it before each read; it sends no command while the subscription
   * exists.
   */
  listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    this.registry.listenToKey(this.key, this.heard).then(
      (stop) => {
        this.stop = stop;
        if (this.closed) stop();
        // Entries may have been added before the subscription existed.
        else this.added();
      },
      // After NOPERM, subscribing again is useless, because the Redis user may not read the channel.
      (error: unknown) => (this.listening = messageOf(error).includes('NOPERM')),
    );
  }

  close(): void {
    this.closed = true;
    this.stop?.();
  }

  private readonly heard = (event?: string): void => {
    if (event === undefined) this.listening = false;
    // Reading a stream causes notifications too, such as `xgroup-createconsumer`. Only those of new entries matter.
    if (event === undefined || event === 'xadd') this.added();
  };
}
