import { LuanestError, shown } from '../../../internal/src';
import { InvalidStreamInputError } from '../stream-consumer.errors';
import type { PublishMessage, PublishResult, PublishSource } from '../stream-consumer.types';

// See DECISIONS.md: publish-many-pulls
/** Messages that are in flight at a time: four full groups of calls, so that the last of very many is not late. */
const MOST_IN_FLIGHT = 1_024;
/** Codes of errors after which a message is certainly not published. */
const NOT_PUBLISHED: readonly string[] = [
  'INVALID_STREAM_INPUT',
  'NOT_SENT',
  'SCRIPT_REFUSED',
  'INVALID_CALL',
  'INVALID_KEY',
];

/** What became of the messages of a `publishMany` that failed, by their indexes from 0. */
export interface PublishManyState {
  /** Messages that were begun. None from this index on was sent. */
  readonly started: number;
  /** Those that may have been published or not, ascending. Publish them again with the same `operationId`. */
  readonly unknown: readonly number[];
  /** Those that were begun and were certainly not published, ascending. */
  readonly unpublished: readonly number[];
}

/**
 * A `publishMany` ended at its first failure, which is its `cause`. Messages below `started` that neither `unknown` nor
 * `unpublished` names have their result.
 */
export class PublishManyError extends LuanestError implements PublishManyState {
  readonly code = 'PUBLISH_MANY';
  readonly started: number;
  readonly unknown: readonly number[];
  readonly unpublished: readonly number[];
  /** Results by the indexes of the messages; undefined for those without one. Empty where `onResult` was given. */
  readonly results: readonly (PublishResult | undefined)[];

  /**
   * @param index of the message that failed first
   * @param state what became of the messages
   * @param cause why that message failed
   * @param results those that were kept
   */
  constructor(
    index: number,
    { started, unknown, unpublished }: PublishManyState,
    cause: unknown,
    results: readonly (PublishResult | undefined)[] = [],
  ) {
    const why = cause instanceof LuanestError ? `${cause.code}: ${cause.message}` : 'see its cause.';
    super(
      `publishMany failed at message ${index}: ${why} Of ${started} begun, ${unpublished.length} were not published, ` +
        `and ${unknown.length} may have been: publish those again with the same operationId.`,
      { cause },
    );
    [this.started, this.unknown, this.unpublished, this.results] = [started, unknown, unpublished, results];
  }
}

/** Publishes one message. */
type Publish = (message: PublishMessage) => Promise<PublishResult>;
type OnResult = (result: PublishResult, index: number) => void;

function checkSource(messages: unknown): PublishSource {
  const source = messages as Partial<Iterable<PublishMessage> & AsyncIterable<PublishMessage>> | null | undefined;
  const isIterable = typeof messages === 'object' && (source?.[Symbol.iterator] ?? source?.[Symbol.asyncIterator]);
  if (isIterable) return messages as PublishSource;
  throw new InvalidStreamInputError(`The messages are ${shown(messages)}. Expected an array, or another iterable.`);
}

function isCertain(error: unknown): boolean {
  return error instanceof LuanestError && NOT_PUBLISHED.includes(error.code);
}

/** A run over a source of messages: bounded in flight, and over at the first failure. */
class PublishRun {
  started = 0;
  private inFlight = 0;
  private wake: (() => void) | undefined;
  private failure: { readonly index: number; readonly error: unknown } | undefined;
  private readonly unknown: number[] = [];
  private readonly unpublished: number[] = [];

  constructor(
    private readonly publish: Publish,
    private readonly onResult: OnResult,
  ) {}

  /** @throws PublishManyError with `results`, after what is in flight has ended */
  async run(messages: PublishSource, results: readonly PublishResult[]): Promise<void> {
    try {
      for await (const message of messages) {
        // The source may have taken its time.
        if (this.failure) break;
        this.begin(message, this.started++);
        if (this.inFlight >= MOST_IN_FLIGHT) await this.until(MOST_IN_FLIGHT / 2);
        if (this.failure) break;
      }
    } catch (error) {
      // Of the source.
      this.failure ??= { index: this.started, error };
    }
    await this.until(0);
    if (!this.failure) return;
    const { started, unknown, unpublished } = this;
    const lists = { unknown: unknown.sort((a, b) => a - b), unpublished: unpublished.sort((a, b) => a - b) };
    throw new PublishManyError(this.failure.index, { started, ...lists }, this.failure.error, results);
  }

  private begin(message: PublishMessage, index: number): void {
    this.inFlight += 1;
    this.publish(message).then(
      (result) => {
        this.report(result, index);
        this.end();
      },
      (error: unknown) => {
        (isCertain(error) ? this.unpublished : this.unknown).push(index);
        this.failure ??= { index, error };
        this.end();
      },
    );
  }

  private report(result: PublishResult, index: number): void {
    try {
      this.onResult(result, index);
    } catch (error) {
      this.failure ??= { index, error };
    }
  }

  private end(): void {
    this.inFlight -= 1;
    this.wake?.();
  }

  /** Waits until at most so many messages are in flight: answers come in groups, and so do the messages that follow. */
  private async until(most: number): Promise<void> {
    if (this.inFlight <= most) return;
    await new Promise<void>((resolve) => {
      this.wake = () => {
        if (this.inFlight <= most) resolve();
      };
    });
    this.wake = undefined;
  }
}

/**
 * Publishes the messages of a source in their order, at most 1,024 of them at a time.
 *
 * @param onResult called with each result; what it throws ends the run. Without it, results are kept
 * @returns the results, in the order of the messages; with `onResult` how many messages there were
 * @throws PublishManyError; InvalidStreamInputError for a source that cannot be iterated
 */
export async function publishAll(
  messages: PublishSource,
  publish: Publish,
  onResult?: OnResult,
): Promise<PublishResult[] | number> {
  const source = checkSource(messages);
  if (onResult !== undefined && typeof onResult !== 'function') {
    throw new InvalidStreamInputError(`onResult is ${shown(onResult)}. Expected a function.`);
  }
  const results: PublishResult[] = [];
  const keep: OnResult = (result, index) => void (results[index] = result);
  const run = new PublishRun(publish, onResult ?? keep);
  await run.run(source, results);
  return onResult === undefined ? results : run.started;
}
