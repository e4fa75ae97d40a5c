import type { deadLetter, RetryLater } from '../../internal/src';
import type { DeadRange, DeadWork } from '../../worker/src';
import type { AnyStream, StreamOptions } from './streams/stream-options';

/** A message that a handler gets. */
export interface StreamMessage<T = unknown> {
  readonly stream: string;
  readonly group: string;
  /** Id of the message: `<partition>:<entry id>`; unique in the stream. */
  readonly id: string;
  /**
   * The published value, parsed from JSON. On a stream with the option `keys`, another program writes the entries. There, the payload
   * is an object with the fields of the entry, as UTF-8 text.
   */
  readonly payload: T;
  /**
   * Fields of the stream entry, by name; the values are the original bytes. If a name comes twice, the last value counts. Undefined
   * unless the stream has the option `keys`.
   */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  /**
   * Key with which the message was published; undefined if it has none. On a stream with `keys`: the entry's field `key`,
   * percent-encoded if it is not UTF-8 text or has ASCII control characters.
   */
  readonly key: string | undefined;
  /** `operationId` with which the message was published; undefined if it has none, and always on a stream with `keys`. */
  readonly operationId: string | undefined;
  /** Number of this attempt of the group to handle the message, from 1. An attempt whose process died counts, too. */
  readonly attempt: number;
  /** Time of the first delivery to the group, ms since 1970 by Redis' clock. */
  readonly firstSeenAtMs: number;
  /** Time at which this process got the message, ms since 1970 by Redis' clock. */
  readonly takenAtMs: number;
  /**
   * Signal that asks the handler to stop. It is aborted with a LostError when another consumer may own the message, because the lease has
   * ended or the group was deleted; with a TimeoutError after `timeoutMs`; and with a ClosedError when the consumer stops and the handler
   * has not ended within `drainMs`.
   */
  readonly signal: AbortSignal;
}

/** Result of a handler: nothing if the message was handled; otherwise what `retryLater(...)` or `deadLetter(...)` has returned. */
export type HandlerResult = void | undefined | RetryLater | ReturnType<typeof deadLetter>;

/**
 * Handler of single messages. A message counts as handled if the handler returns nothing. The attempt has failed if it throws an error. For
 * another attempt or none, it returns or throws `retryLater(...)` or `deadLetter(...)`.
 */
export type StreamHandler<T = unknown> = (message: StreamMessage<T>) => HandlerResult | Promise<HandlerResult>;

/**
 * Result of a handler of batches. Nothing: all messages were handled. `retryLater(...)` or `deadLetter(...)`: this applies to all messages.
 * An array: one such result for each message, in order.
 */
export type BatchResult = HandlerResult | readonly HandlerResult[];

/** Handler of batches of messages. If it throws an error, the attempts of all these messages have failed. */
export type StreamBatchHandler<T = unknown> = (
  messages: readonly StreamMessage<T>[],
) => BatchResult | Promise<BatchResult>;

/** Options of a message to publish. */
export interface PublishOptions {
  /**
   * Key of the message; text of 1 to 256 characters without control characters. All messages with the same key go to the same partition,
   * while the number of partitions does not change.
   */
  readonly key?: string;
  /**
   * Id that makes it safe to repeat a publish. Text of 1 to 256 characters without control characters. A second publish with the same id
   * and key within `operationRetentionMs` adds no message, and returns the id of the first one, while the number of partitions does not
   * change. Default: a unique id for each call, so that a call that ioredis sends twice adds only one message.
   */
  readonly operationId?: string;
  /**
   * How long Redis remembers the `operationId` of this message, ms; integer >= 1,000. Default: the option `operationRetentionMs` of the
   * stream.
   */
  readonly operationRetentionMs?: number;
}

/** A message to publish. */
export interface PublishMessage<T = unknown> extends PublishOptions {
  /** Any value that JSON can hold. */
  readonly payload: T;
}

/** Function that observes each publish. Gets the name of the stream, the message, and a promise of the result, which may reject. */
export type PublishWatcher = (stream: string, message: PublishMessage, result: Promise<PublishResult>) => void;

export interface StreamInspection {
  /** Groups that this process reads. A group with several consumers is listed several times. */
  readonly groups: readonly { readonly stream: string; readonly group: string }[];
  /** Makes each later publish also call `watcher`. */
  watch(watcher: PublishWatcher): void;
}

/** A message that was checked, but not sent. `luanest/outbox` stores it in SQL as JSON, and publishes it later. */
export interface PreparedMessage {
  readonly stream: string;
  /** Payload as JSON. */
  readonly payload: string;
  /** Options of the stream that decide to which partition the message goes, and whether it is refused. */
  readonly options: StreamOptions;
}

export interface StreamOutbox {
  /** Checks a message as `publish` does, and returns it without sending it. @throws InvalidInputError and InvalidOptionError */
  prepare(stream: string | AnyStream, payload: unknown, options: PublishOptions): PreparedMessage;
  /**
   * Publishes a checked message with the stream options that are stored with it, even if this process uses other options for the stream.
   *
   * @throws as `StreamConsumerService.publish`
   */
  publish(stream: string, options: StreamOptions, message: PublishMessage): Promise<PublishResult>;
}

/** Messages to publish: an array, or any other iterable or async iterable object. luanest begins to publish them in this order. */
export type PublishSource<T = unknown> = Iterable<PublishMessage<T>> | AsyncIterable<PublishMessage<T>>;

/** Result of a publish. */
export type PublishResult =
  | {
      readonly status: 'published';
      /** `<partition>:<entry id>` of the message. */
      readonly id: string;
      /** True if Redis had the message already: an earlier publish had the same `operationId`, or the client sent this call twice. */
      readonly replayed: boolean;
    }
  | {
      /** The message was not added, because its partition has `maxLength` messages or more. */
      readonly status: 'full';
      /** Number of messages in the partition. */
      readonly length: number;
    };

/** Statistics of a group of a stream, over all partitions and the consumers of all processes. */
export interface StreamStats {
  /** Number of messages in the stream, including messages that `retain` keeps. On a stream with `keys`: number of all entries. */
  readonly length: number;
  /**
   * Number of messages that the group has read, but neither acknowledged nor dead-lettered. They include messages that wait for a retry, or
   * for an earlier message of their key.
   */
  readonly pending: number;
  /**
   * Number of messages that the group has not read yet. An estimate if some of these messages were deleted, or if the group began with the
   * option `from` and has not caught up.
   */
  readonly lag: number;
  /** Age of the oldest message that the group has neither handled nor dead-lettered, ms; undefined if there is none. */
  readonly oldestMs: number | undefined;
  /**
   * Number of pending messages that no consumer holds. Some wait until their retry is due. The others wait for a free consumer: their last
   * consumer died, or with `ordered`, the earlier messages of their key are finished.
   */
  readonly due: number;
  /** Number of pending messages that wait for an earlier message of their key. Always 0 without `ordered`. */
  readonly parked: number;
  /** Number of dead letters. */
  readonly dead: number;
  /** Number of consumers that hold messages, counted per partition. */
  readonly sessions: number;
  /** True if the group is paused. */
  readonly paused: boolean;
  /** The same statistics for each partition, by its index. */
  readonly partitions: readonly Omit<StreamStats, 'paused' | 'partitions'>[];
}

/** A dead letter: a message that the group does not get again, unless it is replayed. */
export interface DeadLetter<Payload = unknown> extends DeadWork<Payload> {
  /** `id` of the message as its handler got it, `<partition>:<entry id>`. */
  readonly messageId: string;
  /** Payload of the message, as in `StreamMessage`. If the payload is not valid JSON: the raw text. */
  readonly payload: Payload;
  /** Fields of the entry, as in `StreamMessage`. */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  readonly key: string | undefined;
  readonly operationId: string | undefined;
  /** Time of the first delivery to the group, ms since 1970 by Redis' clock. */
  readonly firstSeenAtMs: number;
}

/** Options that select a page of dead letters. */
export interface DeadLetterPageOptions {
  /** Maximum number of dead letters of the page, integer from 1 to 500. Default 100. */
  readonly limit?: number;
  /** `nextCursor` of the page before. Default: the first page. */
  readonly cursor?: string;
}

/** Selects dead letters for `replayAll` and `dropAll`. Without conditions, all dead letters of the group are selected. */
export type DeadLetterFilter = DeadRange;

/** Range of messages that `replayRange` delivers again. */
export interface ReplayRange {
  /** Earliest publish time of the messages, ms since 1970 by Redis' clock; integer >= 0, such as `date.getTime()`. */
  readonly fromAtMs: number;
  /**
   * End of the range: only messages that were published before this time are replayed, ms since 1970; greater than `fromAtMs`. Default: up
   * to the last message that the group has read.
   */
  readonly beforeAtMs?: number;
  /**
   * Maximum number of messages, integer >= 1. luanest replays one partition after the other, each from its oldest message. Default:
   * all.
   */
  readonly limit?: number;
  /**
   * Id that makes it safe to repeat the call; text of 1 to 256 characters. A call with the same id within `operationRetentionMs` of the
   * stream continues where the last call has ended, and replays nothing if that call was complete. Use an id for one range only. Default: a
   * unique id for each call.
   */
  readonly operationId?: string;
}

/** A running consumer of this process, which `StreamConsumerService.handle()` returned. */
export interface StreamConsumerHandle {
  readonly stream: string;
  readonly group: string;
  /** Number of handlers that run now, including those that have exceeded `timeoutMs`. */
  readonly running: number;
  /** Returns the statistics of the group, over all processes. @throws the errors of ScriptRegistry.run() */
  stats(): Promise<StreamStats>;
  /**
   * Stops the consumer. It takes no more messages, and waits up to `drainMs` for running handlers. Then it aborts the AbortSignals of those
   * that still run, waits up to `abortGraceMs`, and gives their messages back to Redis. If Redis does not confirm this within 2 s, other
   * consumers take the messages over when the lease has ended. A second call returns the same promise.
   */
  stop(): Promise<void>;
}
