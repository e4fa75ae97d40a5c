import type { ScriptRegistry } from 'luanest/script-registry';
import { time, nextTurn } from '../../../internal/src';
import { events } from '../stream-consumer.events';
import type { Origin } from './session';

/**
 * Decides when a reader takes entries next: at once after a message of the partition's channel, when a retry is due, when a
 * lease ends, or by polling.
 */
export class Wakeup {
  /** Time of the next take, by `time.monotonicMs()`; 0 for at once. */
  at = 0;
  /** Number of calls of `ring`. It differs from `ringsAtTake` if a call came while the take was in flight. */
  private rings = 0;
  private ringsAtTake = 0;
  /** Time at which a message is due that was put back while the take was in flight, by `time.monotonicMs()`. */
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

  /** Called when a take begins. A `ring` or `within` after this is for the take that follows. */
  begin(): void {
    this.ringsAtTake = this.rings;
    this.dueAt = Infinity;
  }

  /** Makes the next take follow at once, because there may be messages. */
  ring(): void {
    this.rings += 1;
    this.at = 0;
    this.changed();
  }

  /** Makes the next take follow within `ms`, because a message will be due. */
  within(ms: number): void {
    const at = time.monotonicMs() + ms;
    this.dueAt = Math.min(this.dueAt, at);
    if (at >= this.at) return;
    this.at = at;
    this.changed();
  }

  /**
   * Delays the next take, because there are no more messages, and listens for the next publish.
   *
   * @param dueInMs time until the next retry is due, ms; -1 if none waits
   * @param endInMs time until the next lease ends, ms; Infinity if there is no lease
   */
  sleep(dueInMs: number, endInMs: number): void {
    this.listen();
    if (this.rings !== this.ringsAtTake) return;
    const now = time.monotonicMs();
    const due = dueInMs < 0 ? Infinity : dueInMs;
    const at = Math.min(this.nextPoll(now), now + Math.max(1, Math.min(due, Math.max(endInMs, 0) + 20)));
    this.at = Math.min(at, this.dueAt);
  }

  /**
   * Returns the time of the next poll. All readers of a process poll at multiples of an eighth of `pollMs`, so that their takes
   * share groups. The pause is random, so that they do not all poll at the same time.
   */
  private nextPoll(now: number): number {
    const latest = now + this.pollMs * (0.8 + Math.random() * 0.2);
    return latest - (latest % (this.pollMs / 8));
  }

  close(): void {
    this.closed = true;
    this.stop?.();
    this.stop = undefined;
  }

  /**
   * Listens on the channel. If that is not possible, the consumer polls. After each call of the listener, the next `sleep` listens
   * again, because ScriptRegistry also calls the listener once when a subscription has ended.
   */
  private listen(): void {
    if (this.listening || this.closed) return;
    this.listening = true;
    const onMessage = (): void => {
      this.listening = false;
      this.ring();
    };
    // If the subscription existed before, `listen` resolves before the next turn of the event loop, and no message was missed.
    let isNew = false;
    nextTurn(() => (isNew = true));
    this.registry.listen(this.channel, onMessage).then(
      (stop) => {
        this.stop?.();
        this.stop = stop;
        if (this.closed) this.close();
        // A new subscription did not get messages that were published before.
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
