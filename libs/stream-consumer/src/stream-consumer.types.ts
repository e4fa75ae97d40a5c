import type { deadLetter, RetryLater } from '../../internal/src';
import type { DeadRange, DeadWork } from '../../worker/src';
import type { AnyStream, StreamOptions } from './streams/stream-options';

/** A message, as its handler gets it. */
export interface StreamMessage<T = unknown> {
  readonly stream: string;
  readonly group: string;
  /** `<partition>:<entry id>`; unique in the stream. */
  readonly id: string;
  /**
   * The published value, parsed from JSON. On a stream with the option `keys`, whose entries another program writes: an object
   * with the fields of the entry, as UTF-8 text.
   */
  readonly payload: T;
  /**
   * On a stream with `keys`: the fields of the entry, by name; the values have the original bytes. If a name comes twice, the
   * last value counts. Undefined on any other stream.
   */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  /**
   * Key that the publisher gave; undefined without a key. On a stream with `keys`: the entry's field `key`, percent-encoded if
   * it is not UTF-8 text or has ASCII control characters.
   */
  readonly key: string | undefined;
  /** Operation id that the publisher gave; undefined without an operation id, and on a stream with `keys`. */
  readonly operationId: string | undefined;
  /** Number of this attempt of the group, from 1. An attempt counts even if its consumer died. */
  readonly attempt: number;
  /** Time of the first delivery to the group, ms since 1970 by Redis' clock. */
  readonly firstSeenAtMs: number;
  /** Time of this delivery, ms since 1970 by Redis' clock. */
  readonly takenAtMs: number;
  /**
   * Fires when this consumer may no longer own the message, because its lease has ended or the group was deleted; when the
   * handler runs longer than `timeoutMs`; and when the consumer stops after `drainMs`. The reason is a LostError, a
   * TimeoutError or a ClosedError.
   */
  readonly signal: AbortSignal;
}

/** Result of a handler: nothing for a message that was handled, `retryLater(...)` or `deadLetter(...)`. */
export type HandlerResult = void | undefined | RetryLater | ReturnType<typeof deadLetter>;

/**
 * Handles one message. Returning nothing means that the message was handled; throwing means that the attempt has failed.
 * `retryLater(...)` and `deadLetter(...)` may be returned or thrown.
 */
export type StreamHandler<T = unknown> = (message: StreamMessage<T>) => HandlerResult | Promise<HandlerResult>;

/**
 * Result of a handler of batches: nothing if all messages were handled, one outcome for all of them, or an array with one for each, in
 * their order; undefined in it for a message that was handled.
 */
export type BatchResult = HandlerResult | readonly HandlerResult[];

/** Handles a batch of messages. A throw means that the attempts of all of them have failed. */
export type StreamBatchHandler<T = unknown> = (
  messages: readonly StreamMessage<T>[],
) => BatchResult | Promise<BatchResult>;

/** Options of a publish. */
export interface PublishOptions {
  /**
   * Text of 1 to 256 characters without control characters. Messages with the same key are in the same partition, as long as
   * the number of partitions does not change.
   */
  readonly key?: string;
  /**
   * Text of 1 to 256 characters without control characters. Within `operationRetentionMs`, another publish with the same id and key
   * adds no message, and returns the id of the first one, as long as the number of partitions does not change. Default: a
   * unique id for each call, so that a call that ioredis sends again adds one message.
   */
  readonly operationId?: string;
  /** How long Redis remembers the `operationId` of this message, ms; integer >= 1,000. Default: that of the stream. */
  readonly operationRetentionMs?: number;
}

/** A message to publish. */
export interface PublishMessage<T = unknown> extends PublishOptions {
  /** Any value that JSON can hold. */
  readonly payload: T;
}

/** Gets the name of the stream, the message and the result of a call that publishes a message. The result may reject. */
export type PublishWatcher = (stream: string, message: PublishMessage, result: Promise<PublishResult>) => void;

/** Parts of StreamConsumerService that `luanest/testing` needs. */
export interface StreamInspection {
  /** Groups that consumers of this process read; a group with several consumers several times. */
  readonly groups: readonly { readonly stream: string; readonly group: string }[];
  /** Calls `watcher` for each message that is published later. */
  watch(watcher: PublishWatcher): void;
}

/** A message that `publish` would take, in a form that JSON can hold. */
export interface PreparedMessage {
  readonly stream: string;
  /** Payload as JSON. */
  readonly payload: string;
  /** Options of the stream that decide where and whether the message is added. */
  readonly options: StreamOptions;
}

/** Parts of StreamConsumerService that `luanest/outbox` needs. */
export interface StreamOutbox {
  /** Checks what `publish` checks. @throws InvalidInputError and InvalidOptionError */
  prepare(stream: string | AnyStream, payload: unknown, options: PublishOptions): PreparedMessage;
  /** Publishes to a stream with the options of a prepared message, whatever options it has in this process. @throws what `publish` does */
  publish(stream: string, options: StreamOptions, message: PublishMessage): Promise<PublishResult>;
}

/** Messages to publish: an array, or any other iterable or async iterable object. They are begun in its order. */
export type PublishSource<T = unknown> = Iterable<PublishMessage<T>> | AsyncIterable<PublishMessage<T>>;

/** Result of a publish. */
export type PublishResult =
  | {
      readonly status: 'published';
      /** `<partition>:<entry id>` of the message. */
      readonly id: string;
      /** True if an earlier publish with the operation id added the message, or this call was sent twice. */
      readonly replayed: boolean;
    }
  | {
      /** The partition has `maxLength` messages or more; nothing was changed. */
      readonly status: 'full';
      /** Number of messages in the partition. */
      readonly length: number;
    };

/** Numbers of a group of a stream, over all partitions. They cover the consumers of all processes. */
export interface StreamStats {
  /** Messages in the stream, with those that `retain` keeps. On a stream with `keys`: all entries. */
  readonly length: number;
  /** Messages that the group has read and not settled, including messages that wait for a retry and parked messages. */
  readonly pending: number;
  /** Messages that the group has not read yet. An estimate if such messages were deleted, and while a group with `from` catches up. */
  readonly lag: number;
  /** Age of the oldest message that the group has not settled, ms; undefined if all are settled. */
  readonly oldestMs: number | undefined;
  /**
   * Pending messages that wait for a consumer: until a retry is due, because their consumer died, or because their turn has
   * come.
   */
  readonly due: number;
  /** With `ordered`: pending messages that wait for an earlier message of their key. */
  readonly parked: number;
  /** Dead letters. */
  readonly dead: number;
  /** Leases that have not ended. A consumer with messages has one for each partition. */
  readonly sessions: number;
  /** True if the group is paused. */
  readonly paused: boolean;
  /** The same numbers of each partition, by its index. */
  readonly partitions: readonly Omit<StreamStats, 'paused' | 'partitions'>[];
}

/** A dead letter: a message that is not handled again until it is replayed. */
export interface DeadLetter<Payload = unknown> extends DeadWork<Payload> {
  /** Id that the message had in the stream. */
  readonly messageId: string;
  /** Payload of the message, as in `StreamMessage`. If the payload is not JSON, its text. */
  readonly payload: Payload;
  /** Fields of the entry, as in `StreamMessage`. */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  readonly key: string | undefined;
  readonly operationId: string | undefined;
  /** Time of the first delivery to the group, ms since 1970 by Redis' clock. */
  readonly firstSeenAtMs: number;
}

/** Selects a page of dead letters. */
export interface DeadLetterPageOptions {
  /** Maximum number of dead letters of the page, integer from 1 to 500. Default 100. */
  readonly limit?: number;
  /** `nextCursor` of the page before. Default: begins with the first page. */
  readonly cursor?: string;
}

/** Selects the dead letters that `replayAll` and `dropAll` handle. Without a condition, they handle all of the group. */
export type DeadLetterFilter = DeadRange;

/** Selects the messages that `replayRange` delivers again. */
export interface ReplayRange {
  /** Messages that were published at this time or later, ms since 1970 by Redis' clock: integer >= 0, such as `date.getTime()`. */
  readonly fromAtMs: number;
  /**
   * Messages that were published before this time, ms, which is after `fromAtMs`. Default: up to the last message that the group has read.
   */
  readonly beforeAtMs?: number;
  /** Maximum number of messages, integer >= 1. They are replayed partition by partition, the oldest of each first. Default: all. */
  readonly limit?: number;
  /**
   * Text of 1 to 256 characters. Within `operationRetentionMs` of the stream, another call with the same id continues where the last one
   * ended, or replays nothing and returns the same number. Use an id for one range only. Default: a unique id for each call.
   */
  readonly operationId?: string;
}

/** A consumer of this process. */
export interface StreamConsumerHandle {
  readonly stream: string;
  readonly group: string;
  /** Number of handlers that run now, including those that run on after `timeoutMs`. */
  readonly running: number;
  /** Returns the numbers of the group, of all processes. @throws the errors of ScriptRegistry.run() */
  stats(): Promise<StreamStats>;
  /**
   * Stops the consumer. It reads no more messages and waits at most `drainMs` for running handlers. Then it fires the signals of
   * the handlers that still run, waits at most `abortGraceMs`, and hands their messages back. Messages whose outcome Redis does
   * not confirm within 2 s can be taken over when the lease has ended. A second call returns the same promise.
   */
  stop(): Promise<void>;
}
