import { InvalidInputError, LostError, MOVED, time } from '../../../internal/src';
import { Attempt, type ResolvedBackoff } from '../../../worker/src';
import type { StreamMessage } from '../stream-consumer.types';
import { objectOf, unpackFields } from '../streams/fields';
import type { Held, Origin, Session } from './session';
import type { Settler } from './settler';
import type { TakenEntry } from './take-answer';

interface Taker {
  readonly origin: Origin;
  readonly settler: Settler;
  readonly options: { readonly attempts: number; readonly backoff: ResolvedBackoff };
  /** Notes that Redis has the outcome of a message, or never will. */
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

  /** `<partition>:<key>` if the group is ordered and the message has a key; else undefined. */
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

  /** Returns the properties of `StreamMessage` without `signal` and `fields`, for logs. */
  toJSON(): object {
    const { stream, group, id, payload, key, operationId, attempt, firstSeenAtMs } = this;
    return { stream, group, id, payload, key, operationId, attempt, firstSeenAtMs };
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
      throw new InvalidInputError(`The payload of message ${this.id} is ${problem}.`, { code: 'MALFORMED_PAYLOAD' });
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
