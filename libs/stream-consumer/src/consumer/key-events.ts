import type { ScriptRegistry } from 'luanest/script-registry';
import { messageOf } from '../../../internal/src';

/**
 * Calls `added` when an entry was added to the stream of another program, if the server reports events of keys, and when such events
 * may have been missed. Without events, or without the permission for their channel, it does nothing: the reader polls anyway.
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

  /** Listens, unless it does so already. Call it before each read. It costs no command while the subscription lasts. */
  listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    this.registry.listenToKey(this.key, this.heard).then(
      (stop) => {
        this.stop = stop;
        if (this.closed) stop();
        // Entries may have been added before.
        else this.added();
      },
      // If the user may not read the channel, the next attempt would be refused, too.
      (error: unknown) => (this.listening = messageOf(error).includes('NOPERM')),
    );
  }

  close(): void {
    this.closed = true;
    this.stop?.();
  }

  private readonly heard = (event?: string): void => {
    if (event === undefined) this.listening = false;
    // Our own reads cause events, too, such as `xgroup-createconsumer`.
    if (event === undefined || event === 'xadd') this.added();
  };
}
