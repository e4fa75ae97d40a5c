import type { ScriptRegistry } from 'luanest/script-registry';
import { Bell, time } from '../../../internal/src';
import { events } from '../stream-consumer.events';
import type { GroupKeys } from '../streams/partitions';
import { KeyEvents } from './key-events';
import type { Origin } from './session';

/**
 * Decides when a reader sends its next take (the call that reads entries): at once after a message on the pub/sub channel of the
 * partition, when a retry is due, or when a lease ends. If another program writes the stream, nothing is published on the channel. Such
 * a stream is also read periodically, and after keyspace notifications.
 * See DECISIONS.md: idle-consumers-do-not-ask
 */
export class Wakeup {
  /** Time of the next take, by `time.monotonicMs()`; 0 means at once. */
  at = 0;
  /**
   * True if the partition was in use since the last check, when `Maintenance` set this to false: its channel had a message, or a take
   * returned entries.
   */
  used = false;
  /** Number of calls of `ring` so far. If it differs from `ringsAtTake`, `ring` was called while the take was in flight. */
  private rings = 0;
  private ringsAtTake = 0;
  /**
   * Earliest time at which a message is due that was put back while the take was in flight, by `time.monotonicMs()`; Infinity if none
   * was.
   */
  private dueAt = Infinity;
  private readonly bell: Bell;
  private readonly keyEvents: KeyEvents | undefined;

  /**
   * @param pollMs longest pause between two takes, ms; undefined if each publish wakes the reader
   * @param changed called when the time of the next take has become earlier
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
   * Called before a take is sent. Later calls of `ring` and `within` are for the take after this one. Subscribes before the take, since
   * a message may be published after the take has run in Redis and before its reply arrives.
   */
  begin(): void {
    this.bell.listen();
    this.keyEvents?.listen();
    this.ringsAtTake = this.rings;
    this.dueAt = Infinity;
  }

  /** Makes the next take due at once, because there may be messages. */
  ring(): void {
    this.rings += 1;
    this.at = 0;
    this.changed();
  }

  /** Makes the next take due in at most `ms`, because a message will be due then. */
  within(ms: number): void {
    const at = time.monotonicMs() + ms;
    this.dueAt = Math.min(this.dueAt, at);
    if (at >= this.at) return;
    this.at = at;
    this.changed();
  }

  /**
   * Delays the next take, because the last one found no more messages. Does nothing if `ring` was called since the last take began.
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
