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
  /** Operation id with which the message was published; undefined if it has none, and always on a stream with `keys`. */
  readonly operationId: string | undefined;
  /** Number of this attempt of the group to handle the message, from 1. An attempt also counts if its process died. */
  readonly attempt: number;
  /** Time of the first delivery to the group, ms since 1970 by Redis' clock. */
  readonly firstSeenAtMs: number;
  /** Time of this delivery, ms since 1970 by Redis' clock. */
  readonly takenAtMs: number;
  /**
   * Fires with a LostError when this consumer may no longer own the message, because its lease has ended or the group was deleted.
   * Fires with a TimeoutError when the handler runs longer than `timeoutMs`. Fires with a ClosedError when the consumer stops and the
   * handler has not ended within `drainMs`.
   */
  readonly signal: AbortSignal;
}

/** Result of a handler: nothing if the message was handled, or an outcome: `retryLater(...)` or `deadLetter(...)`. */
export type HandlerResult = void | undefined | RetryLater | ReturnType<typeof deadLetter>;

/**
 * Handles one message. If it returns nothing, the message was handled. If it throws an error, the attempt has failed. It may return or
 * throw `retryLater(...)` and `deadLetter(...)`.
 */
export type StreamHandler<T = unknown> = (message: StreamMessage<T>) => HandlerResult | Promise<HandlerResult>;

/**
 * Result of a handler of batches. Nothing: all messages were handled. One outcome: it applies to all messages. An array: one result for
 * each message, in their order, where undefined means that the message was handled.
 */
export type BatchResult = HandlerResult | readonly HandlerResult[];

/** Handles a batch of messages. If it throws an error, the attempts of all these messages have failed. */
export type StreamBatchHandler<T = unknown> = (
  messages: readonly StreamMessage<T>[],
) => BatchResult | Promise<BatchResult>;

/** Options of a publish. */
export interface PublishOptions {
  /**
   * Text of 1 to 256 characters without control characters. Messages with the same key go to the same partition, while the number of
   * partitions does not change.
   */
  readonly key?: string;
  /**
   * Id that makes it safe to repeat a publish. Text of 1 to 256 characters without control characters. Another publish with the same id
   * and key within `operationRetentionMs` adds no message, and returns the id of the first message. This is so while the number of
   * partitions does not change. Default: a unique id for each call, so that a call that ioredis sends twice adds only one message.
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

/** Function that is called for each publish. It gets the name of the stream, the message and a promise of the result, which may reject. */
export type PublishWatcher = (stream: string, message: PublishMessage, result: Promise<PublishResult>) => void;

/** Parts of StreamConsumerService that `luanest/testing` needs. */
export interface StreamInspection {
  /** Groups that consumers of this process read. A group with several consumers is listed several times. */
  readonly groups: readonly { readonly stream: string; readonly group: string }[];
  /** Calls `watcher` for each message that is published later. */
  watch(watcher: PublishWatcher): void;
}

/** A message that was checked and not sent yet, in a form that JSON can hold. */
export interface PreparedMessage {
  readonly stream: string;
  /** Payload as JSON. */
  readonly payload: string;
  /** Options of the stream that select the partition of the message, or can refuse the message. */
  readonly options: StreamOptions;
}

/** Parts of StreamConsumerService that `luanest/outbox` needs. */
export interface StreamOutbox {
  /** Checks a message as `publish` does, and returns it without sending it. @throws InvalidInputError and InvalidOptionError */
  prepare(stream: string | AnyStream, payload: unknown, options: PublishOptions): PreparedMessage;
  /**
   * Publishes a prepared message with its own `options`, even if the stream has other options in this process.
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
      /** True if the message was already in Redis: an earlier publish had the same operation id, or the client sent this call twice. */
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
   * Number of messages that the group has read and not settled: not acknowledged, and not dead-lettered. Messages that wait for a
   * retry, and parked messages, count too.
   */
  readonly pending: number;
  /**
   * Number of messages that the group has not read yet. This is an estimate if some of these messages were deleted, or if the group
   * began with the option `from` and still catches up.
   */
  readonly lag: number;
  /** Age of the oldest message that the group has not settled, ms; undefined if all are settled. */
  readonly oldestMs: number | undefined;
  /**
   * Number of pending messages that no consumer has now. They wait for the time of their retry, or for a free consumer: their retry is
   * due, their consumer died, or the earlier messages of their key were settled.
   */
  readonly due: number;
  /** With `ordered`: number of pending messages that wait until an earlier message of their key is settled. */
  readonly parked: number;
  /** Number of dead letters. */
  readonly dead: number;
  /** Number of leases that have not ended. A consumer has one lease for each partition from which it has messages. */
  readonly sessions: number;
  /** True if the group is paused. */
  readonly paused: boolean;
  /** The same statistics for each partition, by its index. */
  readonly partitions: readonly Omit<StreamStats, 'paused' | 'partitions'>[];
}

/** A dead letter: a message that no handler gets again until it is replayed. */
export interface DeadLetter<Payload = unknown> extends DeadWork<Payload> {
  /** Id of the message as its handler got it, `<partition>:<entry id>`. */
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
  /** `nextCursor` of the page before. Default: begins with the first page. */
  readonly cursor?: string;
}

/** Selects the dead letters that `replayAll` and `dropAll` handle. Without a condition, it selects all dead letters of the group. */
export type DeadLetterFilter = DeadRange;

/** Range of messages that `replayRange` delivers again. */
export interface ReplayRange {
  /** Messages that were published at this time or later, ms since 1970 by Redis' clock: integer >= 0, such as `date.getTime()`. */
  readonly fromAtMs: number;
  /**
   * Messages that were published before this time, ms since 1970; greater than `fromAtMs`. Default: up to the last message that the
   * group has read.
   */
  readonly beforeAtMs?: number;
  /**
   * Maximum number of messages, integer >= 1. luanest replays one partition after the other, each from its oldest message. Default:
   * all.
   */
  readonly limit?: number;
  /**
   * Id that makes it safe to repeat the call; text of 1 to 256 characters. Another call with the same id, within `operationRetentionMs`
   * of the stream, continues where the last call ended. If the last call was complete, the new call replays nothing and returns the
   * same number. Use an id for one range only. Default: a unique id for each call.
   */
  readonly operationId?: string;
}

/** A running consumer of this process, which `StreamConsumerService.handle` returned. */
export interface StreamConsumerHandle {
  readonly stream: string;
  readonly group: string;
  /** Number of handlers that run now, including handlers that still run after `timeoutMs`. */
  readonly running: number;
  /** Returns the statistics of the group, over all processes. @throws the errors of ScriptRegistry.run() */
  stats(): Promise<StreamStats>;
  /**
   * Stops the consumer. It reads no more messages and waits at most `drainMs` for running handlers. Then it fires the signals of the
   * handlers that still run, waits at most `abortGraceMs`, and hands their messages back. If Redis does not confirm the outcome of a
   * message within 2 s, another consumer can take over the message after the lease has ended. A second call returns the same promise.
   */
  stop(): Promise<void>;
}
