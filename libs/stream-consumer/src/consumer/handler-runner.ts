import { Logger } from '@nestjs/common';
import { classOf, InvalidInputError, LostError, MOVED, type ResolvedShutdown, time } from '../../../internal/src';
import { Attempt, Attempts, type Failure, type ResolvedBackoff, type Work, type WorkLog } from '../../../worker/src';
import { events } from '../stream-consumer.events';
import type { ResolvedConsumerOptions } from '../stream-consumer.options';
import type { StreamMessage } from '../stream-consumer.types';
import { objectOf, unpackFields } from '../streams/fields';
import type { TakenEntry } from './consumer.scripts';
import type { Held, Origin, Session, Settler } from './session';

interface Taker {
  readonly origin: Origin;
  readonly settler: Settler;
  readonly options: { readonly attempts: number; readonly backoff: ResolvedBackoff };
  /** Called when Redis has stored the result of a message, or will never store it. */
  forget(delivery: Delivery): void;
}

/** One delivery of a message to this process: both the `StreamMessage` that the handler gets, and the attempt to handle it. */
export class Delivery extends Attempt implements StreamMessage, Held {
  payload: unknown;
  fields: ReadonlyMap<string, Buffer> | undefined;
  [MOVED] = false;

  constructor(
    readonly reader: Taker,
    readonly entry: TakenEntry,
    readonly session: Session,
  ) {
    // All messages that this process has taken from a partition share the lease of the session. So the delivery itself never expires.
    super(time.monotonicMs(), Infinity, false);
  }

  get stream(): string {
    return this.reader.origin.stream;
  }

  get group(): string {
    return this.reader.origin.group;
  }

  get id(): string {
    return this.reader.origin.idPrefix + this.entry.id;
  }

  get key(): string | undefined {
    return this.entry.key === '' ? undefined : this.entry.key;
  }

  /** `<partition>:<key>` if the messages of a key are handled in order; undefined without `ordered`, or for a message without a key. */
  get orderKey(): string | undefined {
    const { origin } = this.reader;
    return origin.isOrdered && this.entry.key !== '' ? origin.idPrefix + this.entry.key : undefined;
  }

  get operationId(): string | undefined {
    return this.entry.operation === '' ? undefined : this.entry.operation;
  }

  get attempt(): number {
    return this.entry.attempt;
  }

  get attempts(): number {
    return this.reader.options.attempts;
  }

  get backoff(): ResolvedBackoff {
    return this.reader.options.backoff;
  }

  get label(): string {
    return `message ${this.id}`;
  }

  get firstSeenAtMs(): number {
    return this.entry.firstSeenMs;
  }

  get takenAtMs(): number {
    return this.entry.takenMs;
  }

  /** Returns the message without its AbortSignal and raw fields, for logs. */
  toJSON(): object {
    const { stream, group, id, payload, key, operationId, attempt, firstSeenAtMs, takenAtMs } = this;
    return { stream, group, id, payload, key, operationId, attempt, firstSeenAtMs, takenAtMs };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.toJSON();
  }

  /** Sets `payload` and `fields` by parsing the entry. @throws InvalidInputError if the payload is missing or not JSON */
  read(): void {
    const { payload } = this.entry;
    if (typeof payload !== 'string') {
      this.fields = unpackFields(payload);
      this.payload = objectOf(this.fields);
      return;
    }
    try {
      this.payload = JSON.parse(payload);
    } catch {
      // This error is logged, and a log must not contain a payload. The message of the JSON parser would quote parts of it.
      const problem = payload.length === 0 ? 'missing' : `not JSON (${payload.length} characters)`;
      throw new InvalidInputError(
        `The payload of message ${this.id} is ${problem}, so no handler was called, and the message is a dead letter. If another ` +
          'program writes to the stream, set the option keys in defineStream(). Otherwise correct the program that wrote it.',
        { code: 'MALFORMED_PAYLOAD' },
      );
    }
  }

  lossOf(): LostError {
    return this.lossBecause('its lease of the message has ended');
  }

  suspect(reason: string): void {
    this.abort(this.lossBecause(reason));
  }

  giveUp(reason: string): string {
    this.orphaned = this.running && !this.decided;
    this.decided = true;
    this.suspect(reason);
    if (!this.orphaned) this.settled();
    return this.id;
  }

  settled(): void {
    this.reader.forget(this);
  }

  private lossBecause(reason: string): LostError {
    return new LostError(
      `This consumer may no longer have message ${this.id}, because ${reason}. Another consumer may handle the message, so stop and write nothing more.`,
    );
  }
}

/** Function that calls a handler, and returns or throws what the handler does. The name of the function appears in logs. */
export type Invoke = (message: StreamMessage) => unknown;

const HANDED_BACK = 'handed back';
const MOVED_ELSEWHERE = 'moved to other dead letters';
const NO_ATTEMPT_LEFT =
  'no attempt is left: the consumer died, shut down or lost its lease during the last attempt, or the option attempts was lowered since';

/** If the handler of an earlier message with the same key still runs, the message is tried again after this time, ms. */
const BUSY_KEY_MS = 1_000;

interface Burial {
  /** Text that Redis stores with the dead letter. It may quote a payload, so it must not be logged. */
  readonly problem: string;
  /** Reason for the log: the error of the last attempt, or a text that quotes no payload. */
  readonly why: string | { readonly error: unknown };
  readonly error?: unknown;
}

/** Calls the handler with messages, and has the results stored in Redis. */
export class HandlerRunner implements Work<Delivery> {
  readonly attempts: Attempts<Delivery>;
  /** Codes of luanest's errors that no retry can fix. A message that causes such an error becomes a dead letter at once. */
  readonly final = ['MALFORMED_PAYLOAD'];
  private readonly logger = new Logger('StreamConsumer');
  /** Keys of ordered messages whose handlers still run, even if their results will be ignored. */
  private readonly busyKeys = new Set<string>();
  private hasWarnedOfResult = false;

  /** @param freed function to call when a handler has ended, because the consumer can then take another message */
  constructor(
    private readonly options: ResolvedConsumerOptions,
    limits: ResolvedShutdown,
    private readonly invoke: Invoke,
    private readonly log: WorkLog,
    freed: () => void,
    private readonly registry?: object,
  ) {
    const { concurrency } = options;
    this.attempts = new Attempts<Delivery>(this, { ...limits, concurrency }, log, freed);
  }

  /**
   * Runs the handler for a message, unless another process may own the message, no attempt is left, or a handler for the same key still
   * runs. The caller must have reserved a slot of `attempts.capacity`. Never throws.
   */
  start(delivery: Delivery): void {
    const { attempt } = delivery.entry;
    const { orderKey, session } = delivery;
    const { attempts } = this;
    // If the lease was lost, another process may handle this message.
    if (session.over) return attempts.capacity.release(1);
    // Attempt 0 means that the message was replayed for another group. This group acknowledges it without calling the handler.
    if (attempt === 0) {
      this.skip(delivery);
      delivery.reader.settler.commit(delivery);
    } else if (attempt > this.options.attempts) {
      this.skip(delivery);
      this.bury(delivery, { problem: `Error: ${NO_ATTEMPT_LEFT}`, why: NO_ATTEMPT_LEFT });
    } else if (orderKey !== undefined && this.busyKeys.has(orderKey)) {
      // A handler for an earlier message of this key has exceeded its timeout, or has lost its message, but still runs. This message waits
      // for it.
      this.putBack(delivery, BUSY_KEY_MS);
    } else attempts.begin(delivery, this.options.timeoutMs);
  }

  call(delivery: Delivery): unknown {
    const { orderKey } = delivery;
    if (orderKey !== undefined) this.busyKeys.add(orderKey);
    delivery.read();
    return this.invoke(delivery);
  }

  ended({ orderKey }: Delivery): void {
    if (orderKey !== undefined) this.busyKeys.delete(orderKey);
  }

  succeed(delivery: Delivery, result: unknown): void {
    if (result !== undefined) this.warnOfResult(result);
    release(delivery);
    delivery.reader.settler.commit(delivery);
  }

  fail(delivery: Delivery, { verdict, delayMs, text, error, note }: Failure): void {
    if (verdict === 'dead-letter') return this.bury(delivery, { problem: text, why: note ?? { error }, error });
    const { stream, group, id, attempt, attempts } = delivery;
    release(delivery);
    if (note === undefined) this.log.failed({ named: delivery.label, attempt, attempts }, error, delayMs);
    events.messageRetried.publish(() => ({ stream, group, id, attempt, delayMs, error }), this.registry);
    void delivery.reader.settler.retry(delivery, delayMs, verdict === 'retry', text);
  }

  /** Gives a message back without calling its handler, and frees its slot. The attempt does not count. */
  putBack(delivery: Delivery, delayMs = 0): void {
    this.skip(delivery);
    void this.handBack(delivery, delayMs);
  }

  /** Gives a message back whose handler has no result, such as at the end of a shutdown. The attempt does not count. */
  handBack(delivery: Delivery, delayMs = 0): Promise<void> {
    release(delivery);
    return delivery.reader.settler.retry(delivery, delayMs, false, HANDED_BACK);
  }

  private skip(delivery: Delivery): void {
    delivery.decided = true;
    this.attempts.add(delivery);
    release(delivery);
    this.attempts.capacity.release(1);
  }

  private warnOfResult(result: unknown): void {
    if (this.hasWarnedOfResult) return;
    this.hasWarnedOfResult = true;
    const { stream, group } = this.options;
    this.logger.warn(
      `Stream ${stream}, group ${group}: ${this.invoke.name || 'the handler'} returned ${classOf(result)}, which is ignored: the ` +
        'message counts as handled. Return nothing, retryLater({ delayMs }) or deadLetter(reason). Logged once.',
    );
  }

  private bury(delivery: Delivery, { problem, why, error }: Burial): void {
    const { stream, group, id, attempt, attempts } = delivery;
    const made = Math.min(attempt, attempts);
    // If `attempt` is above `attempts`, no attempt was left, and no handler ran. So the log names the attempt before.
    const last = attempt > attempts ? attempt - 1 : attempt;
    release(delivery);
    events.messageDeadLettered.publish(
      () => ({ stream, group, id, attemptsMade: made, reason: problem, error }),
      this.registry,
    );
    if (delivery[MOVED]) {
      this.log.dead({ named: delivery.label, attempt: last, attempts }, why, '');
      // The handler has moved the message to dead letters of its own and deleted the entry, so this retry usually finds nothing. But a
      // failover may undo the move. Then the entry is in the stream again, and the retry makes the group deliver it.
      return void delivery.reader.settler.retry(delivery, 0, false, MOVED_ELSEWHERE);
    }
    void delivery.reader.settler.bury(delivery, problem).then((buried) => {
      if (buried === undefined) return;
      const unless = buried > 0 ? '' : ', unless it was deleted from the stream,';
      this.log.dead({ named: delivery.label, attempt: last, attempts }, why, unless);
    });
  }
}

/** Removes a message with a result from its session. */
function release(delivery: Delivery): void {
  const { messages } = delivery.session;
  // A failover may have made this session take the entry twice. Then the map has the later delivery, which must stay.
  if (messages.get(delivery.entry.id) === delivery) messages.delete(delivery.entry.id);
}
