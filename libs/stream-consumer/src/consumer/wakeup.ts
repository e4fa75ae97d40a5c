import type { ScriptRegistry } from 'luanest/script-registry';
import { Bell, time } from '../../../internal/src';
import { events } from '../stream-consumer.events';
import type { Origin } from './session';

/**
 * Decides when a reader takes entries next: at once after a message of the partition's channel, when a retry is due, or when a
 * lease ends. A stream of another program, which publishes no messages, is also read periodically.
 * See DECISIONS.md: idle-consumers-do-not-ask
 */
export class Wakeup {
  /** Time of the next take, by `time.monotonicMs()`; 0 for at once. */
  at = 0;
  /** True if there was a message of the channel, or entries were taken, since `Maintenance` has set this to false. */
  used = false;
  /** Number of calls of `ring`. It differs from `ringsAtTake` if a call came while the take was in flight. */
  private rings = 0;
  private ringsAtTake = 0;
  /** Time at which a message is due that was put back while the take was in flight, by `time.monotonicMs()`. */
  private dueAt = Infinity;
  private readonly bell: Bell;

  /**
   * @param pollMs longest pause between two takes, ms; undefined if each publish rings
   * @param changed called when a take may be due
   */
  constructor(
    registry: ScriptRegistry,
    { stream, group }: Origin,
    channel: string,
    private readonly pollMs: number | undefined,
    private readonly changed: () => void,
  ) {
    const failed = (error: unknown): void =>
      events.callFailed.publish(() => ({ stream, group, during: 'subscribe', error }));
    const rung = (begins: boolean): void => {
      this.used ||= !begins;
      this.ring();
    };
    this.bell = new Bell(registry, channel, rung, failed);
  }

  /**
   * Called before a take is sent. A `ring` or `within` after this is for the take that follows. It listens, since the message about what
   * the take does not find may come before the reply.
   */
  begin(): void {
    this.bell.listen();
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
   * Delays the next take, because there are no more messages.
   *
   * @param dueInMs time until the next retry is due, ms; Infinity if none waits
   * @param endInMs time until the next lease ends, ms; Infinity if there is no lease
   */
  sleep(dueInMs: number, endInMs: number): void {
    if (this.rings !== this.ringsAtTake) return;
    const now = time.monotonicMs();
    // The pause is random, so that processes poll at different times.
    const pollInMs = this.pollMs === undefined ? Infinity : this.pollMs * (0.8 + Math.random() * 0.2);
    this.at = Math.min(this.dueAt, now + Math.max(1, Math.min(dueInMs, endInMs + 20, pollInMs)));
  }

  close(): void {
    this.bell.close();
  }
}
