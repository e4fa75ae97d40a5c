import type { ScriptRegistry } from 'luanest/script-registry';
import { Bell, time } from '../../../internal/src';
import { events } from '../stream-consumer.events';
import type { GroupKeys } from '../streams/partitions';
import { KeyEvents } from './key-events';
import type { Origin } from './session';

/**
 * Decides when a reader asks Redis for messages again: at once after a Pub/Sub message of a publisher, when a retry is due, or when a lease
 * ends. If another program writes the stream, luanest publishes nothing, so the reader also polls, and listens to keyspace notifications.
 * See DECISIONS.md: idle-consumers-do-not-ask
 */
export class Wakeup {
  /** Time at which the reader asks Redis for messages again, by `time.monotonicMs()`; 0 means at once. */
  at = 0;
  /**
   * True if `Maintenance` must look at the partition: since its last check, a publisher has woken the reader, Redis has returned messages,
   * or a process has died, which may have left messages. Each check sets it to false.
   */
  used = false;
  /**
   * Number of calls of `ring` so far. If it differs from `ringsAtTake`, there may be messages that the last call to Redis did not return.
   */
  private rings = 0;
  private ringsAtTake = 0;
  /**
   * Earliest due time of the messages that were put back since the reader last began to ask Redis, by `time.monotonicMs()`; Infinity if
   * there are none.
   */
  private dueAt = Infinity;
  private readonly bell: Bell;
  private readonly keyEvents: KeyEvents | undefined;

  /**
   * @param pollMs longest pause between two calls for messages, ms; undefined if each publish wakes the reader
   * @param changed called when the reader must ask Redis earlier than planned
   */
  constructor(
    registry: ScriptRegistry,
    { stream, group }: Origin,
    keys: GroupKeys,
    private readonly pollMs: number | undefined,
    private readonly changed: () => void,
  ) {
    const failed = (error: unknown): void =>
      events.callFailed.publish(() => ({ stream, group, during: 'subscribe', error }));
    const rung = (begins: boolean): void => {
      this.used ||= !begins;
      this.ring();
    };
    this.bell = new Bell(registry, keys.woken, rung, failed);
    this.keyEvents = pollMs === undefined ? undefined : new KeyEvents(registry, keys.stream, () => this.ring());
  }

  /**
   * Called before the reader asks Redis for messages. If `ring` or `within` is called after that, the reader asks once more. Subscribes
   * first, because a message may be published between the run of the script and its reply.
   */
  begin(): void {
    this.bell.listen();
    this.keyEvents?.listen();
    this.ringsAtTake = this.rings;
    this.dueAt = Infinity;
  }

  /** Lets the reader ask Redis for messages at once, because there may be some. */
  ring(): void {
    this.rings += 1;
    this.at = 0;
    this.changed();
  }

  /** Lets the reader ask Redis for messages in at most `ms`, because a message will be due then. */
  within(ms: number): void {
    const at = time.monotonicMs() + ms;
    this.dueAt = Math.min(this.dueAt, at);
    if (at >= this.at) return;
    this.at = at;
    this.changed();
  }

  /**
   * Lets the reader wait before it asks Redis again, because the last call has found no more messages. Does nothing if `ring` was called
   * since that call began.
   *
   * @param dueInMs time until the next retry is due, ms; Infinity if none waits
   * @param endInMs time until the next lease ends, ms; Infinity if there is no lease
   */
  sleep(dueInMs: number, endInMs: number): void {
    if (this.rings !== this.ringsAtTake) return;
    const now = time.monotonicMs();
    // The pause is partly random, so that processes poll at different times.
    const pollInMs = this.pollMs === undefined ? Infinity : this.pollMs * (0.8 + Math.random() * 0.2);
    this.at = Math.min(this.dueAt, now + Math.max(1, Math.min(dueInMs, endInMs + 20, pollInMs)));
  }

  close(): void {
    this.bell.close();
    this.keyEvents?.close();
  }
}
