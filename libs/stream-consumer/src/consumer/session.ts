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
/** Reason why a lease and its messages are lost, as the end of the sentence `This consumer may no longer have message ..., because`. */
export const LEASE_LOST = 'another consumer took over its lease, Redis lost the lease, or the group was deleted';

/** Stream, partition and group from which messages were taken. */
export interface Origin {
  readonly stream: string;
  readonly group: string;
  /** `<partition>:`, the first part of each message id. */
  readonly idPrefix: string;
  readonly isOrdered: boolean;
}

/** A message that this process has taken, and whose result is not stored in Redis yet. */
export interface Held {
  readonly entry: TakenEntry;
  readonly session: Session;
  /** Aborts the AbortSignal of the message, because another consumer may own it now. @param reason end of a sentence after `because` */
  suspect(reason: string): void;
  /**
   * Aborts the AbortSignal of the message, and ignores the result of its handler, because this consumer no longer owns the message.
   *
   * @returns the message id
   */
  giveUp(reason: string): string;
  /** Called when Redis has stored the result of the message, or will never store it. */
  settled(): void;
}

/** Methods of a Reader that its Session calls. */
interface SessionOwner {
  /** Renews the lease of the session in Redis. @returns false if the lease is lost */
  renew(session: Session, deadlineMs: number): Promise<boolean>;
  /** Ends the lease of a session that has no messages, so that it need not be renewed. */
  rest(session: Session): void;
  /** Gives up the messages of the session, because its lease was lost. @param reason end of a sentence after `because` */
  lose(session: Session, reason: string): void;
}

/**
 * A session: the messages that this process has taken from one partition for one group, under one lease. When another consumer takes the
 * messages over, or Redis has lost the lease or the group, the session is over. Scripts then refuse calls in its name, and this process
 * begins a new session.
 * See DECISIONS.md: lease-per-partition
 */
export class Session extends Lease {
  readonly name = `${HOST}:${process.pid}:${randomBytes(9).toString('base64url')}`;
  readonly messages = new Map<string, Held>();
  /** Handled messages that must still be acknowledged in Redis (XACK). */
  acks: Held[] = [];
  /** Messages whose result is on its way to Redis, as one array per call. */
  readonly beingSettled = new Set<readonly Held[]>();
  private takes = 0;

  constructor(
    readonly owner: SessionOwner,
    leaseMs: number,
  ) {
    super(time.monotonicMs(), leaseMs);
  }

  /** True once this session has taken messages. From then on, its lease is renewed. */
  get begun(): boolean {
    return this.index >= 0;
  }

  /** Returns a text that is unique in this session. By this text, a script detects that a call for messages was sent twice. */
  nextToken(): string {
    return (this.takes++).toString(36);
  }

  /** Number of tokens that `nextToken` has returned. Later calls get higher numbers. */
  get taken(): number {
    return this.takes;
  }

  /** True if this session has no unfinished messages. */
  get isIdle(): boolean {
    return this.messages.size === 0 && this.acks.length === 0 && this.beingSettled.size === 0;
  }

  /** Returns the ids of all unfinished messages of this session. */
  heldIds(): string[] {
    return [...this.messages.values(), ...this.acks, ...[...this.beingSettled].flat()].map(({ entry }) => entry.id);
  }

  /**
   * Gives up all messages, except those whose result is on its way to Redis. @returns the ids of the given-up messages; none at a second
   * call
   */
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

  /** Aborts the AbortSignals of all messages, because the lease has ended by the clock of this process. In Redis, it may still run. */
  protected override lapse(): void {
    for (const message of this.messages.values()) message.suspect('its lease could not be renewed in time');
  }
}

/** Maximum number of messages whose results one call stores. A larger number would block Redis for too long. */
const ROWS_A_CALL = 128;
export type Step = StreamConsumerEvents['callFailed']['during'];

/** Members of a Reader that its Settler uses. */
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

/** Stores the results of messages in Redis. Repeats each call until it succeeds, the lease is lost, or the consumer stops. */
export class Settler {
  private flushing = 0;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedConsumerOptions,
    private readonly reader: Taker,
    private readonly settlers: () => Settlers,
  ) {}

  /** Notes that a message was handled. The next `flush` acknowledges it in Redis, together with others. */
  commit(message: Held): void {
    message.session.acks.push(message);
  }

  /** Acknowledges the handled messages, up to 128 in one call. */
  flush(): void {
    const { session } = this.reader;
    // At most two calls are in flight, so that the next one collects more acknowledgements.
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

  /** True if more than 1,024 messages wait to be acknowledged. The reader then takes no more messages. */
  get behind(): boolean {
    return this.reader.session.acks.length > 8 * ROWS_A_CALL;
  }

  get idle(): boolean {
    return this.reader.session.acks.length === 0 && this.flushing === 0;
  }

  /**
   * Gives a message back, so that it is delivered again after `delayMs`.
   *
   * @param counted true if the attempt counts; if false, the next attempt has the same number
   * @param problem reason for the retry; not empty
   */
  async retry(message: Held, delayMs: number, counted: boolean, problem: string): Promise<void> {
    const { session, entry } = message;
    const { stream, sessions, due, tries, woken, unsettled } = this.reader.keys;
    const { id, attempt, returned, firstSeenMs } = entry;
    const keys = { stream, sessions, due, tries, woken, unsettled };
    const given = { group: this.options.group, session: session.name, id, attempt, returned, firstSeenMs };
    const args = { ...given, counted: counted ? 1 : 0, delayMs, problem };
    const alive = await this.settle(session, [message], () => this.registry.run(retryEntry, { keys, args }));
    if (alive) this.reader.wakeup.within(delayMs);
  }

  /**
   * Makes a message a dead letter, unless it was deleted from the stream.
   *
   * @returns 1 if this call added the dead letter; 0 if an earlier call whose reply was lost has added it, or if the message was deleted;
   *   undefined if Redis did not confirm the call, because the lease was lost or the consumer stopped
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
   * Acknowledges messages, or makes them dead letters, so that the next messages with the same keys can be taken.
   *
   * @param problem reason why the messages become dead letters; '' if they were handled
   * @returns the number of dead letters that this call added; undefined in the same cases as `bury`
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
