import { LuanestError, shown, InvalidInputError } from '../../../internal/src';
import type { PublishMessage, PublishResult, PublishSource } from '../stream-consumer.types';

// See DECISIONS.md: publish-many-pulls
/** Most messages in flight. More would only wait longer for their turn, until some pass their deadline. */
const MOST_IN_FLIGHT = 1_024;
/** Codes of the errors after which it is certain that a message was not published. */
const NOT_PUBLISHED: readonly string[] = ['INVALID_INPUT', 'NOT_SENT', 'SCRIPT_REFUSED', 'INVALID_CALL', 'INVALID_KEY'];

/** Outcomes of the messages of a `publishMany` that failed, by their indexes from 0. */
export interface PublishManyState {
  /** Number of messages that were begun; the message with this index and all later ones were not sent. */
  readonly started: number;
  /**
   * Indexes of messages that may have been published, ascending. Publish these messages again: within `operationRetentionMs`, a message
   * with the same `operationId` is added only once.
   */
  readonly unknown: readonly number[];
  /** Indexes of messages whose publish failed and that were not published, ascending. Those with the result `full` are not in it. */
  readonly unpublished: readonly number[];
}

/**
 * A `publishMany` ended at its first failure, which is the `cause`: the error of a message, of the source of the messages or of
 * `onResult`. Each message with an index below `started` that is neither in `unknown` nor in `unpublished` has a result:
 * `published` or `full`.
 */
export class PublishManyError extends LuanestError implements PublishManyState {
  readonly code = 'PUBLISH_MANY';
  readonly started: number;
  readonly unknown: readonly number[];
  readonly unpublished: readonly number[];
  /** Results by the indexes of the messages; undefined for a message without a result. Empty if `onResult` was given. */
  readonly results: readonly (PublishResult | undefined)[];

  /**
   * @param index index of the message that failed first; after an error of the source, of the message that it did not return;
   *   after an error of `onResult`, of the message whose result it got
   * @param state outcomes of the messages
   * @param cause the first failure
   * @param results results that were kept
   */
  constructor(
    index: number,
    { started, unknown, unpublished }: PublishManyState,
    cause: unknown,
    results: readonly (PublishResult | undefined)[] = [],
  ) {
    const why = cause instanceof LuanestError ? `${cause.code}: ${cause.message.replace(/\.$/, '')}` : 'see the cause';
    super(
      `publishMany failed at message ${index}, counted from 0: ${why}. Of the first ${started} messages, ` +
        `${unpublished.length} failed and were not published, and ${unknown.length} may have been published: their indexes ` +
        `are in \`unpublished\` and \`unknown\`. Publish these again, and all messages from index ${started}. A message that may ` +
        `have been published is added only once if its operationId is the same.`,
      { cause },
    );
    [this.started, this.unknown, this.unpublished, this.results] = [started, unknown, unpublished, results];
  }
}

type Publish = (message: PublishMessage) => Promise<PublishResult>;
type OnResult = (result: PublishResult, index: number) => void;

function checkSource(messages: unknown): PublishSource {
  const source = messages as Partial<Iterable<PublishMessage> & AsyncIterable<PublishMessage>> | null | undefined;
  const isIterable = typeof messages === 'object' && (source?.[Symbol.iterator] ?? source?.[Symbol.asyncIterator]);
  if (isIterable) return messages as PublishSource;
  throw new InvalidInputError(`The messages are ${shown(messages)}. Expected an array or another iterable object.`);
}

function isCertain(error: unknown): boolean {
  return error instanceof LuanestError && NOT_PUBLISHED.includes(error.code);
}

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

  /** Publishes the messages. @throws PublishManyError with `results`, after a failure, when no message is in flight any more */
  async run(messages: PublishSource, results: readonly PublishResult[]): Promise<void> {
    try {
      for await (const message of messages) {
        // A message may have failed while the source made this one.
        if (this.failure) break;
        this.begin(message, this.started++);
        if (this.inFlight >= MOST_IN_FLIGHT) await this.until(MOST_IN_FLIGHT / 2);
        if (this.failure) break;
      }
    } catch (error) {
      // The source has thrown.
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
 * Publishes the messages of a source, begun in their order, at most 1,024 of them at a time.
 *
 * @param onResult called with each result; an error that this function throws ends the run. Default: results are kept
 * @returns the results, in the order of the messages; with `onResult` the number of messages
 * @throws PublishManyError; InvalidInputError if `messages` is not an iterable object, or `onResult` not a function
 */
export async function publishAll(
  messages: PublishSource,
  publish: Publish,
  onResult?: OnResult,
): Promise<PublishResult[] | number> {
  const source = checkSource(messages);
  if (onResult !== undefined && typeof onResult !== 'function') {
    throw new InvalidInputError(`onResult is ${shown(onResult)}. Expected a function.`);
  }
  const results: PublishResult[] = [];
  const keep: OnResult = (result, index) => void (results[index] = result);
  const run = new PublishRun(publish, onResult ?? keep);
  await run.run(source, results);
  return onResult === undefined ? results : run.started;
}
