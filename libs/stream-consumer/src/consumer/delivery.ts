import { MalformedPayloadError, MessageLostError } from '../stream-consumer.errors';
import type { StreamMessage } from '../stream-consumer.types';
import { objectOf, unpackFields } from '../streams/fields';
import type { TakenEntry } from './take-answer';
import type { Origin } from './entry-source';
import type { Held, Session } from './session';
import type { Settler } from './settler';

/** What a message knows of the reader that took it. */
interface Taker {
  readonly origin: Origin;
  readonly settler: Settler;
}

/** A message on its way through a handler. */
export class Delivery implements StreamMessage, Held {
  readonly startedAt = performance.now();
  payload: unknown;
  fields: ReadonlyMap<string, Buffer> | undefined;
  /** Whether it is settled, lost or handed back: what its handler says from now on changes nothing. */
  decided = false;
  private controller: AbortController | undefined;
  private reason: Error | undefined;

  constructor(
    readonly reader: Taker,
    readonly entry: TakenEntry,
    readonly session: Session,
  ) {}

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

  /** What must be handled one after the other; undefined where order does not matter. */
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

  get firstSeenAt(): Date {
    return new Date(this.entry.firstSeenMs);
  }

  /** Made when somebody asks for it: most handlers do not, and a controller costs more than a message. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.reason) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  /** What a log should show of it. */
  toJSON(): object {
    const { stream, group, id, payload, key, operationId, attempt, firstSeenAt } = this;
    return { stream, group, id, payload, key, operationId, attempt, firstSeenAt };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.toJSON();
  }

  /** Reads the payload. @throws MalformedPayloadError when it is not JSON */
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
      // Neither the text nor the parser's own error, which quotes it: errors are logged, payloads are not.
      const what = payload.length === 0 ? 'missing' : `not JSON, ${payload.length} characters`;
      throw new MalformedPayloadError(`The payload of message ${this.id} is ${what}`);
    }
  }

  /** Fires the signal, once. */
  abort(reason: Error): void {
    if (this.reason) return;
    this.reason = reason;
    this.controller?.abort(reason);
  }

  /** It may be another's. */
  doubt(reason: string): void {
    this.abort(new MessageLostError(`Message ${this.id} may be another's: ${reason}`));
  }

  /** It was lost: nothing that its handler says counts any more. Answers its id. */
  forsake(reason: string): string {
    this.decided = true;
    this.doubt(reason);
    return this.id;
  }
}
