import { type ScriptRegistry } from 'luanest/script-registry';
import type { Calls } from '../../../worker/src';
import { events, type StreamConsumerEvents } from '../stream-consumer.events';
import type { ResolvedConsumerOptions } from '../stream-consumer.options';
import type { GroupKeys } from '../streams/partitions';
import type { Stream } from '../streams/stream-catalog';
import { acknowledge, finish, retryEntry } from './consumer.scripts';
import { LEASE_LOST, type Held, type Origin, type Session } from './session';
import type { Wakeup } from './wakeup';

/** Most entries that one call settles, so that the script does not block Redis for long. */
const ROWS_A_CALL = 128;
/** Step of a consumer that makes a call to Redis. */
export type Step = StreamConsumerEvents['callFailed']['during'];

interface Taker {
  readonly keys: GroupKeys;
  readonly origin: Origin;
  readonly session: Session;
  readonly calls: Calls<Step>;
  readonly wakeup: Wakeup;
  readonly blocked: boolean;
  changed(): void;
  lose(session: Session, reason: string, more: readonly Held[]): void;
}

/** Sends the outcomes of messages to Redis, and repeats each call until it succeeds, the session is lost or the consumer stops. */
export class Settler {
  private flushing = 0;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedConsumerOptions,
    private readonly reader: Taker,
    private readonly source: Pick<Stream, 'needs'>,
  ) {}

  /** Lists a message as handled. A later `flush` acknowledges it, together with others. */
  commit(message: Held): void {
    message.session.acks.push(message);
  }

  /** Sends the acknowledgements that wait, up to 128 a call. */
  flush(): void {
    const { session } = this.reader;
    // At most two calls are in flight. Meanwhile acknowledgements collect for the next call.
    while (session.acks.length > 0 && this.flushing < 2) {
      const batch = session.acks.splice(0, ROWS_A_CALL);
      this.flushing += 1;
      void this.sendAndReport(session, batch).finally(() => {
        this.flushing -= 1;
        this.flush();
        this.reader.changed();
      });
    }
  }

  /** True if so many acknowledgements wait that no more messages should be taken. */
  get behind(): boolean {
    return this.reader.session.acks.length > 8 * ROWS_A_CALL;
  }

  get idle(): boolean {
    return this.reader.session.acks.length === 0 && this.flushing === 0;
  }

  /**
   * Puts a message back for another attempt.
   *
   * @param counted true if the attempt counts; false: the next attempt has the same number
   * @param problem why the attempt did not succeed, not empty. If the attempt does not count, a text that is unique in the session
   */
  async retry(message: Held, delayMs: number, counted: boolean, problem: string): Promise<void> {
    const { session, entry } = message;
    const { stream, sessions, due, tries, woken } = this.reader.keys;
    const { id, attempt, firstSeenMs } = entry;
    const keys = { stream, sessions, due, tries, woken };
    const given = { group: this.options.group, session: session.name, id, attempt, firstSeenMs };
    const args = { ...given, counted: counted ? 1 : 0, delayMs, problem };
    const alive = await this.settle(session, [message], () => this.registry.run(retryEntry, { keys, args }));
    if (alive) this.reader.wakeup.within(delayMs);
  }

  /**
   * Makes a message a dead letter, unless it was deleted from the stream.
   *
   * @returns 1 if the dead letter was added; 0 if it was added by an earlier call whose reply was lost, or the message was
   *   deleted from the stream; undefined if the session was lost or the consumer stopped before Redis confirmed the call
   */
  bury(message: Held, problem: string): Promise<number | undefined> {
    return this.finish(message.session, [message], problem);
  }

  private async sendAndReport(session: Session, batch: readonly Held[]): Promise<void> {
    if (!(await this.send(session, batch))) return;
    const { stream, group, idPrefix } = this.reader.origin;
    const handled = (): StreamConsumerEvents['messagesHandled'] => ({
      stream,
      group,
      ids: batch.map(({ entry }) => idPrefix + entry.id),
    });
    events.messagesHandled.publish(handled, this.registry);
  }

  private async send(session: Session, batch: readonly Held[]): Promise<boolean> {
    if (this.options.ordered) return (await this.finish(session, batch, '')) !== undefined;
    const { stream, sessions, tries } = this.reader.keys;
    const { group } = this.options;
    const ids = batch.map(({ entry }) => entry.id);
    return this.settle(session, batch, () =>
      this.registry.run(acknowledge, {
        keys: { stream, sessions, tries },
        args: { group, session: session.name, needs: this.source.needs, ids },
      }),
    );
  }

  /**
   * Acknowledges messages, and releases the next messages of their keys.
   *
   * @param problem makes them dead letters, unless it is ''
   * @returns the number of dead letters that the last call added; undefined as for `bury`
   */
  private async finish(session: Session, batch: readonly Held[], problem: string): Promise<number | undefined> {
    const { stream, sessions, due, tries, dead, heads } = this.reader.keys;
    const rows = batch.flatMap(({ entry: { id, key, attempt, firstSeenMs } }) => [
      id,
      key,
      problem,
      String(Math.min(attempt, this.options.attempts)),
      String(firstSeenMs),
    ]);
    const keys = { stream, sessions, due, tries, dead, heads };
    let [released, buried] = [0, 0];
    const alive = await this.settle(session, batch, async () => {
      const args = { group: this.options.group, session: session.name, needs: this.source.needs, rows };
      const answer = await this.registry.run(finish, { keys, args });
      ({ released, buried } = answer);
      return answer.alive;
    });
    if (released > 0 || this.reader.blocked) this.reader.wakeup.ring();
    return alive ? buried : undefined;
  }

  private async settle(session: Session, batch: readonly Held[], call: () => Promise<boolean>): Promise<boolean> {
    session.beingSettled.add(batch);
    const alive = await this.reader.calls
      .run('settle', () => session.over, call)
      .finally(() => session.beingSettled.delete(batch));
    if (alive === false || (alive === undefined && session.over)) this.reader.lose(session, LEASE_LOST, batch);
    else if (alive) for (const message of batch) message.settled();
    return alive === true;
  }
}
