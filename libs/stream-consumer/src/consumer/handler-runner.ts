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
  /** Notes that the outcome of a message is in Redis, or will never be. */
  forget(delivery: Delivery): void;
}

/** A message that was taken, as its handler gets it. */
export class Delivery extends Attempt implements StreamMessage, Held {
  payload: unknown;
  fields: ReadonlyMap<string, Buffer> | undefined;
  [MOVED] = false;

  constructor(
    readonly reader: Taker,
    readonly entry: TakenEntry,
    readonly session: Session,
  ) {
    // The lease is that of the session.
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

  /** `<partition>:<key>` if the group is ordered and the message has a key; otherwise undefined. */
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

  /** Returns the properties of `StreamMessage` without `signal` and `fields`, for logs. */
  toJSON(): object {
    const { stream, group, id, payload, key, operationId, attempt, firstSeenAtMs, takenAtMs } = this;
    return { stream, group, id, payload, key, operationId, attempt, firstSeenAtMs, takenAtMs };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.toJSON();
  }

  /** Sets `payload` and `fields`. @throws InvalidInputError if the payload is missing or not JSON */
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
      // Errors are logged, payloads must not be. So this error quotes neither the payload nor the parser's error, which quotes
      // it.
      const problem = payload.length === 0 ? 'missing' : `not JSON (${payload.length} characters)`;
      throw new InvalidInputError(
        `The payload of message ${this.id} is ${problem}, so no handler was called. If another program writes the stream, define the ` +
          'stream with the option keys.',
        { code: 'MALFORMED_PAYLOAD' },
      );
    }
  }

  lossOf(): LostError {
    return this.lossBecause('its lease has ended');
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
    return new LostError(`This consumer may no longer own message ${this.id}, because ${reason}.`);
  }
}

/** Calls a handler, and returns or throws what the handler does. Log lines show the name of this function. */
export type Invoke = (message: StreamMessage) => unknown;

const HANDED_BACK = 'handed back';
const MOVED_ELSEWHERE = 'moved to other dead letters';
const NO_ATTEMPT_LEFT =
  'no attempt is left: the consumer of the last one died, shut down or lost its lease, or the option attempts was lowered since';

/** Pause before a message is taken again while an older handler of its key still runs, ms. */
const BUSY_KEY_MS = 1_000;

interface Burial {
  /** Text that is kept with the dead letter. The text may quote a payload. */
  readonly problem: string;
  /** The reason for the log: the error of the last attempt, or a text that quotes nothing of a payload. */
  readonly why: string | { readonly error: unknown };
  readonly error?: unknown;
}

/** Runs the handler on messages, and passes the outcomes to the Settler, which sends them to Redis. */
export class HandlerRunner implements Work<Delivery> {
  readonly attempts: Attempts<Delivery>;
  /** Codes of the errors after which a message is dead-lettered at once. */
  readonly final = ['MALFORMED_PAYLOAD'];
  private readonly logger = new Logger('StreamConsumer');
  /** Keys of ordered messages whose handlers still run, including those whose outcome is ignored. */
  private readonly busyKeys = new Set<string>();
  private hasWarnedOfResult = false;

  /** @param freed called when a handler has ended, so that another message may be taken */
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
   * Runs the handler unless the message must not be handled now, and settles the message with the outcome. The caller has reserved
   * a slot. Never throws.
   */
  start(delivery: Delivery): void {
    const { attempt } = delivery.entry;
    const { orderKey, session } = delivery;
    const { attempts } = this;
    // All messages of one take have the same session. If it was lost, this consumer no longer owns them.
    if (session.over) return attempts.capacity.release(1);
    // A replayed dead letter of another group: this group settles it without a call of the handler.
    if (attempt === 0) {
      this.skip(delivery);
      delivery.reader.settler.commit(delivery);
    } else if (attempt > this.options.attempts) {
      this.skip(delivery);
      this.bury(delivery, { problem: `Error: ${NO_ATTEMPT_LEFT}`, why: NO_ATTEMPT_LEFT });
    } else if (orderKey !== undefined && this.busyKeys.has(orderKey)) {
      // A handler may still run after `timeoutMs` or after its message was lost. The next message of its key waits until it ends.
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
    const counts = verdict === 'retry';
    void delivery.reader.settler.retry(delivery, delayMs, counts, counts ? text : uniqueNote(text, delivery));
  }

  /** Hands back a message whose handler is not called, and frees its slot. The attempt does not count. */
  putBack(delivery: Delivery, delayMs = 0): void {
    this.skip(delivery);
    void this.handBack(delivery, delayMs);
  }

  /** Hands back a message whose outcome does not count. The attempt does not count. */
  handBack(delivery: Delivery, delayMs = 0): Promise<void> {
    release(delivery);
    return delivery.reader.settler.retry(delivery, delayMs, false, uniqueNote(HANDED_BACK, delivery));
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
      `${stream}/${group}: ${this.invoke.name || 'the handler'} returned ${classOf(result)}, which is treated ` +
        `as if it had returned nothing. Return nothing, retryLater({ delayMs }) or deadLetter(reason). Logged once.`,
    );
  }

  private bury(delivery: Delivery, { problem, why, error }: Burial): void {
    const { stream, group, id, attempt, attempts } = delivery;
    const made = Math.min(attempt, attempts);
    // If no attempt was left, this attempt did not begin.
    const last = attempt > attempts ? attempt - 1 : attempt;
    release(delivery);
    events.messageDeadLettered.publish(
      () => ({ stream, group, id, attemptsMade: made, reason: problem, error }),
      this.registry,
    );
    if (delivery[MOVED]) {
      this.log.dead({ named: delivery.label, attempt: last, attempts }, why, '');
      // Takes the deleted entry out of the pending list. If a failover has brought the entry back, it is due again.
      return void delivery.reader.settler.retry(delivery, 0, false, uniqueNote(MOVED_ELSEWHERE, delivery));
    }
    void delivery.reader.settler.bury(delivery, problem).then((buried) => {
      if (buried === undefined) return;
      const unless = buried > 0 ? '' : ', unless it was deleted from the stream,';
      this.log.dead({ named: delivery.label, attempt: last, attempts }, why, unless);
    });
  }
}

/** Removes a message whose outcome is decided from those that its session holds. */
function release(delivery: Delivery): void {
  const { messages } = delivery.session;
  // After a failover, the session may have taken the entry a second time.
  if (messages.get(delivery.entry.id) === delivery) messages.delete(delivery.entry.id);
}

// See DECISIONS.md: uncounted-retry-has-a-note
/**
 * Returns the text that is stored with a retry that does not count. A unique text lets the script recognize a replay of the
 * call.
 */
function uniqueNote(why: string, { session }: Delivery): string {
  return `${why} ${session.name} ${session.nextToken()}`;
}
