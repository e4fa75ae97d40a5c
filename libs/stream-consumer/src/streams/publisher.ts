import { type ScriptRegistry } from 'luanest/script-registry';
import { Checks, classOf, InvalidInputError, LuanestError, shown, spread, UniqueIds } from '../../../internal/src';
import type { PublishMessage, PublishResult, PublishSource } from '../stream-consumer.types';
import type { Stream } from './stream-catalog';
import { publishMessage } from './streams.scripts';

/** Maximum length of a key or an operation id, characters. */
export const MAX_TEXT = 256;
/** How long Redis remembers an operation id that luanest made, ms. A call that ioredis sends again later would add a second message. */
export const OWN_TTL_MS = 60_000;
const FULL = 0;
const REPLAYED = 2;

const CONTROL = /\p{Cc}/u;
const retention = new Checks('StreamConsumerService.publish', (message) => new InvalidInputError(message));

function checkText(what: string, text: unknown): string {
  if (
    typeof text === 'string' &&
    text !== '' &&
    text.length <= MAX_TEXT &&
    !CONTROL.test(text) &&
    text.isWellFormed()
  ) {
    return text;
  }
  throw new InvalidInputError(
    `The ${what} of the message is ${shown(text)}. Expected 1 to ${MAX_TEXT} characters of well-formed Unicode, without control characters.`,
  );
}

/** Returns a payload as JSON. @throws InvalidInputError if JSON cannot hold the payload, or the payload is too large */
function jsonOf(payload: unknown, maxBytes: number): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (cause) {
    throw new InvalidInputError(`The payload of the message cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (json === undefined) {
    throw new InvalidInputError(
      `The payload of the message is ${classOf(payload)}, for which JSON.stringify() returns undefined. Publish plain data.`,
    );
  }
  // A character of a JavaScript string (a UTF-16 unit) has at most 3 bytes in UTF-8, so the bytes of a short text need not be counted.
  if (json.length * 3 > maxBytes && Buffer.byteLength(json) > maxBytes) {
    throw new InvalidInputError(
      `The payload of the message has ${Buffer.byteLength(json)} bytes as JSON. At most ${maxBytes} bytes are allowed ` +
        `(maxPayloadBytes). Store the data elsewhere and publish its id, or raise maxPayloadBytes.`,
    );
  }
  return json;
}

/**
 * Checks a message before it is published.
 *
 * @returns the payload as JSON
 * @throws InvalidInputError
 */
export function checkMessage(stream: Stream, message: PublishMessage): string {
  if (typeof message !== 'object' || (message as unknown) === null) {
    throw new InvalidInputError(`The message is ${shown(message)}. Expected { payload, key?, operationId? }.`);
  }
  const { payload, key, operationId, operationRetentionMs } = message;
  if (stream.isForeign) {
    throw new InvalidInputError(
      `The message was not published: stream ${stream.name} is defined with the option keys, so another program writes it. Let that program publish, or use XADD.`,
    );
  }
  const json = jsonOf(payload, stream.options.maxPayloadBytes);
  if (key !== undefined) checkText('key', key);
  if (operationId !== undefined) checkText('operationId', operationId);
  if (operationRetentionMs !== undefined) {
    if (operationId === undefined) {
      throw new InvalidInputError(
        'operationRetentionMs is set without operationId, so it has no effect. Set operationId, too, or leave operationRetentionMs out.',
      );
    }
    retention.integer('operationRetentionMs', operationRetentionMs, 1_000);
  }
  return json;
}

/** Publishes messages to streams. */
export class Publisher {
  // Operation ids that luanest makes begin with p. Those of callers are stored with the prefix c, so the two never collide.
  private readonly operationIds = new UniqueIds('p');

  constructor(private readonly registry: ScriptRegistry) {}

  /** Publishes a message. @throws InvalidInputError; the errors of ScriptRegistry.run() */
  async publish(stream: Stream, message: PublishMessage): Promise<PublishResult> {
    const json = checkMessage(stream, message);
    const { key, operationId: name = '' } = message;
    const { operationRetentionMs, maxLength, partitions } = stream.options;
    const operation = name === '' ? this.operationIds.next() : `c${name}`;
    const ofStream = name === '' ? Math.min(operationRetentionMs, OWN_TTL_MS) : operationRetentionMs;
    const retainMs = message.operationRetentionMs ?? ofStream;
    if (!stream.announced) await stream.announce();
    const partition = stream.partition(partitions === 1 ? 0 : spread(key ?? operation) % partitions);
    const { status, id } = await this.registry.run(publishMessage, {
      keys: { stream: partition.stream, woken: partition.woken, operation: partition.operation(operation) },
      args: { payload: json, key: key ?? '', name, retainMs, maxLength },
    });
    if (status === FULL) return { status: 'full', length: Number(id) };
    return { status: 'published', id: `${partition.index}:${id}`, replayed: status === REPLAYED };
  }
}

// See DECISIONS.md: publish-many-pulls
/** Maximum number of messages in flight. With more of them, calls would wait longer, and some would miss their deadlines. */
const MOST_IN_FLIGHT = 1_024;
/** Error codes which prove that a message was not published. */
const NOT_PUBLISHED: readonly string[] = ['INVALID_INPUT', 'NOT_SENT', 'SCRIPT_REFUSED', 'INVALID_CALL', 'INVALID_KEY'];

/** State of the messages after a `publishMany` that failed, by their indexes from 0. */
export interface PublishManyState {
  /** Number of messages that were begun. The message with this index, and all later ones, were not sent. */
  readonly started: number;
  /**
   * Indexes of messages that may have been published, ascending. It is safe to publish them again with the same `operationId` within
   * `operationRetentionMs`.
   */
  readonly unknown: readonly number[];
  /**
   * Indexes of messages that were certainly not published because their call failed, ascending. A message with the result `full` is not
   * among them.
   */
  readonly unpublished: readonly number[];
}

/**
 * Error of a `publishMany` that ended at its first failure. Its `cause` is the error of a message, of the iterable, or of `onResult`. Each
 * message with an index below `started` that is neither in `unknown` nor in `unpublished` has a result: `published` or `full`.
 */
export class PublishManyError extends LuanestError implements PublishManyState {
  readonly code = 'PUBLISH_MANY';
  readonly started: number;
  readonly unknown: readonly number[];
  readonly unpublished: readonly number[];
  /** Result of each message, by its index; undefined for a message without a result. Empty if `onResult` was given. */
  readonly results: readonly (PublishResult | undefined)[];

  /**
   * @param index index of the message that failed first. If the iterable threw: index of the message that it should have returned. If
   *   `onResult` threw: index of the message whose result it got
   * @param state state of the other messages
   * @param cause the first failure
   * @param results results of the messages, if there was no `onResult`
   */
  constructor(
    index: number,
    { started, unknown, unpublished }: PublishManyState,
    cause: unknown,
    results: readonly (PublishResult | undefined)[] = [],
  ) {
    const why = cause instanceof LuanestError ? `${cause.code}: ${cause.message.replace(/\.$/, '')}` : 'see the cause';
    super(
      `publishMany ended at the message with index ${index}: ${why}. Of the first ${started} messages, ${unpublished.length} were not ` +
        `published (error.unpublished has their indexes), and ${unknown.length} may have been published (error.unknown). Publish both ` +
        `again with the same operationId, and then the messages from index ${started}. A repeat with the same operationId adds no ` +
        'message twice.',
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
  throw new InvalidInputError(
    `publishMany: The messages are ${shown(messages)}. Expected an array or another iterable object.`,
  );
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

  /** Publishes the messages. @throws PublishManyError after a failure, when no message is in flight any more */
  async run(messages: PublishSource, results: readonly PublishResult[]): Promise<void> {
    try {
      for await (const message of messages) {
        // Another message may have failed while the iterable was producing this message.
        if (this.failure) break;
        this.begin(message, this.started++);
        if (this.inFlight >= MOST_IN_FLIGHT) await this.until(MOST_IN_FLIGHT / 2);
        if (this.failure) break;
      }
    } catch (error) {
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
 * Publishes the messages of an iterable, at most 1,024 at a time. Begins them in their order.
 *
 * @param onResult called with each result. If it throws, no more messages are sent. Default: the results are collected and returned
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
    throw new InvalidInputError(`publishMany: onResult is ${shown(onResult)}. Expected a function.`);
  }
  const results: PublishResult[] = [];
  const keep: OnResult = (result, index) => void (results[index] = result);
  const run = new PublishRun(publish, onResult ?? keep);
  await run.run(source, results);
  return onResult === undefined ? results : run.started;
}
