import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { type ScriptRegistry } from 'luanest/script-registry';
import { DELETES, Lease, LostError, time } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import { events, type StreamConsumerEvents } from '../stream-consumer.events';
import type { ResolvedConsumerOptions } from '../stream-consumer.options';
import type { GroupKeys } from '../streams/partitions';
import type { Settlers } from '../streams/stream-catalog';
import { acknowledge, finish, retryEntry, type TakenEntry } from './consumer.scripts';

const HOST = hostname().replaceAll(/\s/g, '-');
/** Reason for the loss of a session, as the end of the sentence `This consumer may no longer own message ..., because`. */
export const LEASE_LOST = 'the lease of this consumer was taken over, Redis lost it, or the group was deleted';

/** Stream, partition and group from which messages were taken. */
export interface Origin {
  readonly stream: string;
  readonly group: string;
  /** `<partition>:`, the first part of each message id. */
  readonly idPrefix: string;
  readonly isOrdered: boolean;
}

/** A message that this process has taken from Redis and not settled yet. */
export interface Held {
  readonly entry: TakenEntry;
  readonly session: Session;
  /** Fires the signal of the message, because another consumer may own it now. @param reason end of a sentence after `because` */
  suspect(reason: string): void;
  /**
   * Fires the signal of the message, and ignores the outcome of its handler, because this consumer no longer owns the message.
   *
   * @returns the message id
   */
  giveUp(reason: string): string;
  /** Called when Redis has stored the outcome of the message, or when the outcome will never be sent. */
  settled(): void;
}

/** The reader to which a session belongs. */
interface SessionOwner {
  /** Renews the lease of the session in Redis. @returns false if the lease is lost */
  renew(session: Session, deadlineMs: number): Promise<boolean>;
  /** Ends the lease of a session that has no messages. */
  rest(session: Session): void;
  /** Gives up the session, because it was lost. @param reason end of a sentence after `because` */
  lose(session: Session, reason: string): void;
}

/**
 * A session: the messages that this process has taken from one partition for one group, and the lease that protects them. The session
 * is over when another consumer has taken over its messages, when Redis lost its lease, or when the group was deleted. Then the scripts
 * refuse all calls with the name of the session, and this process begins a new session.
 * See DECISIONS.md: lease-per-partition
 */
export class Session extends Lease {
  readonly name = `${HOST}:${process.pid}:${randomBytes(9).toString('base64url')}`;
  readonly messages = new Map<string, Held>();
  /** Messages that were handled, but are not acknowledged in Redis yet (XACK). */
  acks: Held[] = [];
  /** Messages whose outcome is being sent to Redis, as one array for each call. */
  readonly beingSettled = new Set<readonly Held[]>();
  private takes = 0;

  constructor(
    readonly owner: SessionOwner,
    leaseMs: number,
  ) {
    super(time.monotonicMs(), leaseMs);
  }

  /** True once a take (a call that reads messages) of this session has succeeded. Since then the LeaseBook renews the lease. */
  get begun(): boolean {
    return this.index >= 0;
  }

  /** Returns a text that is unique in the session. With it, a script recognizes a call that was sent twice. */
  nextToken(): string {
    return (this.takes++).toString(36);
  }

  /** Number of tokens that `nextToken` has returned. A take that begins later gets a token with this number or a higher one. */
  get taken(): number {
    return this.takes;
  }

  /** True if no message is being handled or settled. */
  get isIdle(): boolean {
    return this.messages.size === 0 && this.acks.length === 0 && this.beingSettled.size === 0;
  }

  /** Returns the ids of all messages that are being handled or settled. */
  heldIds(): string[] {
    return [...this.messages.values(), ...this.acks, ...[...this.beingSettled].flat()].map(({ entry }) => entry.id);
  }

  /** Gives up all messages, except those whose outcome is being sent. @returns the ids of these messages; no ids at a second call */
  giveUp(reason: string): string[] {
    this.over = true;
    const ids = [...this.messages.values(), ...this.acks].map((message) => message.giveUp(reason));
    this.messages.clear();
    this.acks = [];
    return ids;
  }

  lossOf(): LostError {
    return new LostError(LEASE_LOST);
  }

  override beforeRenewal(): void {
    if (this.isIdle) this.owner.rest(this);
  }

  override lose(): void {
    if (!this.over) this.owner.lose(this, LEASE_LOST);
  }

  /** Fires the signals of all messages, because the lease has ended by the clock of this process. In Redis, the lease may still run. */
  protected override lapse(): void {
    for (const message of this.messages.values()) message.suspect('the lease could not be renewed in time');
  }
}

/** Maximum number of messages that one call settles, so that the script does not block Redis for long. */
const ROWS_A_CALL = 128;
/** Purpose of a call of a consumer to Redis, as in the event `callFailed`. */
export type Step = StreamConsumerEvents['callFailed']['during'];

/** The reader whose messages a Settler settles. */
interface Taker {
  readonly keys: GroupKeys;
  readonly origin: Origin;
  readonly session: Session;
  readonly calls: Calls<Step>;
  readonly wakeup: { ring(): void; within(ms: number): void };
  readonly blocked: boolean;
  changed(): void;
  lose(session: Session, reason: string, more: readonly Held[]): void;
}

/**
 * Settles messages: sends their outcomes to Redis. Repeats each call until the call succeeds, the session is lost or the consumer
 * stops.
 */
export class Settler {
  private flushing = 0;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedConsumerOptions,
    private readonly reader: Taker,
    private readonly settlers: () => Settlers,
  ) {}

  /** Marks a message as handled. The next `flush` acknowledges it in Redis, together with others. */
  commit(message: Held): void {
    message.session.acks.push(message);
  }

  /** Acknowledges the messages that were handled, up to 128 in one call. */
  flush(): void {
    const { session } = this.reader;
    // At most two calls are in flight at a time, so that more acknowledgements collect for the next call.
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

  /** True if more than 1,024 messages wait to be acknowledged. The reader should then take no more messages. */
  get behind(): boolean {
    return this.reader.session.acks.length > 8 * ROWS_A_CALL;
  }

  get idle(): boolean {
    return this.reader.session.acks.length === 0 && this.flushing === 0;
  }

  /**
   * Puts a message back, so that it is taken again after `delayMs`.
   *
   * @param counted true if the attempt counts; if false, the next attempt has the same number
   * @param problem why the attempt did not succeed; not empty. If `counted` is false, the text must be unique in the session
   */
  async retry(message: Held, delayMs: number, counted: boolean, problem: string): Promise<void> {
    const { session, entry } = message;
    const { stream, sessions, due, tries, woken, unsettled } = this.reader.keys;
    const { id, attempt, firstSeenMs } = entry;
    const keys = { stream, sessions, due, tries, woken, unsettled };
    const given = { group: this.options.group, session: session.name, id, attempt, firstSeenMs };
    const args = { ...given, counted: counted ? 1 : 0, delayMs, problem };
    const alive = await this.settle(session, [message], () => this.registry.run(retryEntry, { keys, args }));
    if (alive) this.reader.wakeup.within(delayMs);
  }

  /**
   * Makes a message a dead letter, unless it was deleted from the stream.
   *
   * @returns 1 if the call added the dead letter; 0 if an earlier call with a lost reply added it, or if the message was deleted from
   *   the stream; undefined if the session was lost or the consumer stopped before Redis confirmed the call
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
    const { stream, sessions, tries, unsettled } = this.reader.keys;
    const { group } = this.options;
    const ids = batch.map(({ entry }) => entry.id);
    return this.settle(session, batch, () => {
      const { needs, needed } = this.settlers();
      return this.registry.run(acknowledge, {
        keys: { stream, sessions, tries, unsettled, needed },
        args: { group, session: session.name, needs: this.options[DELETES] ? '-' : needs, ids },
      });
    });
  }

  /**
   * Acknowledges messages, and lets consumers take the next messages with the same keys.
   *
   * @param problem reason for which the messages become dead letters; '' if they were handled
   * @returns the number of dead letters that the call added; undefined in the same cases as `bury`
   */
  private async finish(session: Session, batch: readonly Held[], problem: string): Promise<number | undefined> {
    const { stream, sessions, due, tries, dead, heads, unsettled } = this.reader.keys;
    const rows = batch.flatMap(({ entry: { id, key, attempt, firstSeenMs } }) => [
      id,
      key,
      problem,
      String(Math.min(attempt, this.options.attempts)),
      String(firstSeenMs),
    ]);
    const keys = { stream, sessions, due, tries, dead, heads, unsettled };
    let [released, buried] = [0, 0];
    const alive = await this.settle(session, batch, async () => {
      const { needs, needed } = this.settlers();
      const args = { group: this.options.group, session: session.name, needs, rows };
      const answer = await this.registry.run(finish, { keys: { ...keys, needed }, args });
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
