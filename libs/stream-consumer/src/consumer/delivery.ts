import { unlimitedListeners, time, LostError } from '../../../internal/src';
import { MalformedPayloadError } from '../stream-consumer.errors';
import type { StreamMessage } from '../stream-consumer.types';
import { objectOf, unpackFields } from '../streams/fields';
import type { Held, Origin, Session } from './session';
import type { Settler } from './settler';
import type { TakenEntry } from './take-answer';

interface Taker {
  readonly origin: Origin;
  readonly settler: Settler;
}

/** A message that was taken, as its handler gets it. */
export class Delivery implements StreamMessage, Held {
  readonly startedAt = time.monotonicMs();
  payload: unknown;
  fields: ReadonlyMap<string, Buffer> | undefined;
  /** True from the moment from which what the handler returns or throws is ignored. */
  decided = false;
  private controller: AbortController | undefined;
  private abortReason: Error | undefined;

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

  get firstSeenAtMs(): number {
    return this.entry.firstSeenMs;
  }

  get signal(): AbortSignal {
    // Made at the first use, because most handlers never use it.
    if (!this.controller) {
      this.controller = new AbortController();
      unlimitedListeners(this.controller.signal);
      if (this.abortReason) this.controller.abort(this.abortReason);
    }
    return this.controller.signal;
  }

  /** Returns the properties of `StreamMessage` without `signal` and `fields`, for logs. */
  toJSON(): object {
    const { stream, group, id, payload, key, operationId, attempt, firstSeenAtMs } = this;
    return { stream, group, id, payload, key, operationId, attempt, firstSeenAtMs };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.toJSON();
  }

  /** Sets `payload` and `fields`. @throws MalformedPayloadError if the payload is missing or not JSON */
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
      throw new MalformedPayloadError(`The payload of message ${this.id} is ${problem}.`);
    }
  }

  abort(reason: Error): void {
    if (this.abortReason) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
  }

  suspect(reason: string): void {
    this.abort(new LostError(`This consumer may no longer own message ${this.id}, because ${reason}.`));
  }

  lose(reason: string): string {
    this.decided = true;
    this.suspect(reason);
    return this.id;
  }
}
