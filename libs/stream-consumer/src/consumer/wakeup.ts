import type { ScriptRegistry } from 'luanest/script-registry';
import { events } from '../stream-consumer.events';
import type { Origin } from './entry-source';

/** When a partition is looked at again: at once after a message of its channel, else when something is due, or by polling. */
export class Wakeup {
  /** By `performance.now()`; 0 for at once. */
  at = 0;
  /** Rings of the bell, to notice one that came while a take was out. */
  private rings = 0;
  private seen = 0;
  /** When something is due that a take which is out cannot know of. */
  private promisedAt = Infinity;
  private listening = false;
  private stop: (() => void) | undefined;
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly origin: Origin,
    private readonly channel: string,
    private readonly pollMs: number,
    private readonly changed: () => void,
  ) {}

  /** A take begins: what rings from now on concerns the next one. */
  begin(): void {
    this.seen = this.rings;
    this.promisedAt = Infinity;
  }

  /** There may be something now. */
  ring(): void {
    this.rings += 1;
    this.at = 0;
    this.changed();
  }

  /** There may be something in `ms`. */
  within(ms: number): void {
    const at = performance.now() + ms;
    this.promisedAt = Math.min(this.promisedAt, at);
    if (at >= this.at) return;
    this.at = at;
    this.changed();
  }

  /**
   * There is nothing more, and publishers were asked to wake.
   *
   * @param dueInMs until a retry is due; -1 for none
   * @param endInMs until a lease is over that has to be taken over
   */
  sleep(dueInMs: number, endInMs: number): void {
    this.listen();
    if (this.rings !== this.seen) return;
    const pollMs = this.pollMs * (0.5 + Math.random() / 2);
    const due = dueInMs < 0 ? Infinity : dueInMs;
    const at = performance.now() + Math.max(1, Math.min(pollMs, due, Math.max(endInMs, 0) + 20));
    this.at = Math.min(at, this.promisedAt);
  }

  close(): void {
    this.closed = true;
    this.stop?.();
    this.stop = undefined;
  }

  /** Without the channel, polling does alone. After each message it listens anew: that may have been the last one. */
  private listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    const heard = (): void => {
      this.listening = false;
      this.ring();
    };
    // One that stands already is answered at once, and has missed nothing.
    let isNew = false;
    const turn = setImmediate(() => (isNew = true));
    this.registry.listen(this.channel, heard).then(
      (stop) => {
        clearImmediate(turn);
        this.stop?.();
        this.stop = stop;
        if (this.closed) this.close();
        // What was published before the subscription stood was told to nobody.
        else if (isNew) this.ring();
      },
      (error: unknown) => {
        this.listening = false;
        events.error.publish(() => ({ ...this.named, during: 'subscribe', error }));
      },
    );
  }

  private get named(): { readonly stream: string; readonly group: string } {
    return { stream: this.origin.stream, group: this.origin.group };
  }
}
