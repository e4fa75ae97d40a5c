import type { ScriptRegistry } from 'luanest/script-registry';
import { events } from '../stream-consumer.events';
import type { Origin } from './session';

/** Time of the next take of a partition: at once after a message of its channel, else when a retry is due, or by polling. */
export class Wakeup {
  /** Time of the next take, by `performance.now()`; 0 for at once. */
  at = 0;
  /** Calls of `ring`. With `ringsAtTake`, it shows whether one came while a take was in flight. */
  private rings = 0;
  private ringsAtTake = 0;
  /** Time at which a message is due that the take in flight cannot know of. */
  private dueAt = Infinity;
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

  /** Notes that a take begins: a later `ring` or `within` is for the take after it. */
  begin(): void {
    this.ringsAtTake = this.rings;
    this.dueAt = Infinity;
  }

  /** Makes the next take follow at once: there may be messages. */
  ring(): void {
    this.rings += 1;
    this.at = 0;
    this.changed();
  }

  /** Makes the next take follow within `ms`: a message will be due. */
  within(ms: number): void {
    const at = performance.now() + ms;
    this.dueAt = Math.min(this.dueAt, at);
    if (at >= this.at) return;
    this.at = at;
    this.changed();
  }

  /**
   * Delays the next take: there are no more messages, and the next publish will wake the consumer.
   *
   * @param dueInMs time until the next retry is due, ms; -1 if none waits
   * @param endInMs time until the next lease ends, ms
   */
  sleep(dueInMs: number, endInMs: number): void {
    this.listen();
    if (this.rings !== this.ringsAtTake) return;
    const pollMs = this.pollMs * (0.5 + Math.random() / 2);
    const due = dueInMs < 0 ? Infinity : dueInMs;
    const at = performance.now() + Math.max(1, Math.min(pollMs, due, Math.max(endInMs, 0) + 20));
    this.at = Math.min(at, this.dueAt);
  }

  close(): void {
    this.closed = true;
    this.stop?.();
    this.stop = undefined;
  }

  /**
   * Listens on the channel. If that is not possible, the consumer polls. After each message it listens again: a subscription
   * that broke may have delivered its last message.
   */
  private listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    const onMessage = (): void => {
      this.listening = false;
      this.ring();
    };
    // `listen` resolves before the next turn of the event loop if the subscription exists: it has missed no message.
    let isNew = false;
    const turn = setImmediate(() => (isNew = true));
    this.registry.listen(this.channel, onMessage).then(
      (stop) => {
        clearImmediate(turn);
        this.stop?.();
        this.stop = stop;
        if (this.closed) this.close();
        // A message that was published before the subscription existed was not delivered.
        else if (isNew) this.ring();
      },
      (error: unknown) => {
        this.listening = false;
        const { stream, group } = this.origin;
        events.callFailed.publish(() => ({ stream, group, during: 'subscribe', error }));
      },
    );
  }
}
