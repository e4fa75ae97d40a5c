import { LuanestError } from 'luanest/script-registry';
import type { PublishResult } from './stream-consumer.types';

/** What was given to a call cannot be a payload, a key or an id; nothing was sent. */
export class InvalidStreamInputError extends LuanestError {
  readonly code = 'INVALID_STREAM_INPUT';
}

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

/** What a handler or an interceptor says became of a message is not an outcome; the message is dead-lettered at once. */
export class InvalidOutcomeError extends LuanestError {
  readonly code = 'INVALID_OUTCOME';
}

/** A decorated handler cannot work as it is; thrown at boot, naming class and method. */
export class StreamConsumerSetupError extends LuanestError {
  readonly code = 'STREAM_CONSUMER_SETUP';
}

/** A handler ran for longer than `handlerTimeoutMs`; the attempt counts as failed. */
export class HandlerTimeoutError extends LuanestError {
  readonly code = 'HANDLER_TIMEOUT';
}

/** The payload of a message is not JSON, so no handler saw it; the message is dead-lettered at once. */
export class MalformedPayloadError extends LuanestError {
  readonly code = 'MALFORMED_PAYLOAD';
}

/** The reason of a message's signal: another consumer may have the message. */
export class MessageLostError extends LuanestError {
  readonly code = 'MESSAGE_LOST';
}

/** The app shuts down, and starts no consumers. */
export class StreamConsumerClosedError extends LuanestError {
  readonly code = 'STREAM_CONSUMER_CLOSED';
}
