import type { DeadLetter, RetryLater } from '../../internal/src';
import type { Commit } from './handlers/outcome';

/** A message, as its handler gets it. */
export interface StreamMessage<T = unknown> {
  readonly stream: string;
  readonly group: string;
  /** `<partition>:<entry id>`; unique in the stream. */
  readonly id: string;
  /** The published value, from JSON. On a stream with `keys`: the object of the entry's fields, all as UTF-8 text. */
  readonly payload: T;
  /** On a stream with `keys`: the entry's fields with the original bytes. Undefined on any other stream. */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  /**
   * Key of the message; messages with one key are in one partition. Undefined without a key. On a stream with `keys`: the
   * field `key`, percent-encoded if it is not UTF-8 text or has control characters.
   */
  readonly key: string | undefined;
  /** Operation id that the publisher gave. Undefined if it gave none, and on a stream with `keys`. */
  readonly operationId: string | undefined;
  /** Attempt of this group, from 1. Attempts of consumers that died count. */
  readonly attempt: number;
  /** Time of the first delivery to the group, ms since 1970 by Redis' clock. */
  readonly firstSeenAtMs: number;
  /**
   * Fires when another consumer may have the message, because the lease has ended; when the handler runs longer than
   * `timeoutMs`; and when the shutdown no longer waits for it.
   */
  readonly signal: AbortSignal;
}

/** Result of a handler: nothing or `commit()` for a message that was handled, `retryLater(...)` or `deadLetter(...)`. */
export type HandlerResult = void | undefined | Commit | RetryLater | DeadLetter;

/**
 * Handles one message. Returning nothing means that the message was handled; throwing means that the attempt has failed.
 * `retryLater(...)` and `deadLetter(...)` may be returned or thrown.
 */
export type StreamHandler<T = unknown> = (message: StreamMessage<T>) => HandlerResult | Promise<HandlerResult>;

/** Options of a publish. */
export interface PublishOptions {
  /** Text of 1 to 256 characters without control characters. Messages with one key are in one partition. */
  readonly key?: string;
  /**
   * Text of 1 to 256 characters without control characters. Within `operationTtlMs`, another publish with the same id and key
   * returns the first message and adds none.
   */
  readonly operationId?: string;
}

/** A message to publish. */
export interface PublishMessage<T = unknown> extends PublishOptions {
  /** Any value that JSON can carry. */
  readonly payload: T;
}

/** Messages to publish, in their order: an array, or any iterable or async iterable. */
export type PublishSource<T = unknown> = Iterable<PublishMessage<T>> | AsyncIterable<PublishMessage<T>>;

/** Result of a publish. */
export type PublishResult =
  | {
      readonly status: 'published';
      /** `<partition>:<entry id>` of the message. */
      readonly id: string;
      /** True if an earlier publish with the operation id has made the message. */
      readonly replayed: boolean;
    }
  | {
      /** The partition has `maxLength` messages; nothing was changed. */
      readonly status: 'full';
      /** Messages of the partition. */
      readonly length: number;
    };

/** Numbers of a group on a stream, all partitions and processes together. */
export interface StreamStats {
  /** Messages of the stream that some group has not settled. */
  readonly length: number;
  /** Messages that are read and not settled, including those that wait for a retry or are parked. */
  readonly pending: number;
  /** Messages that are not read yet. */
  readonly lag: number;
  /** Age of the oldest unsettled message, ms; undefined if there is none. */
  readonly oldestMs: number | undefined;
  /** Pending messages that wait for a retry or a takeover. */
  readonly due: number;
  /** Pending messages that wait for an earlier message of their key. */
  readonly parked: number;
  /** Dead letters. */
  readonly dead: number;
  /** Consumers with a lease; each process counts once for each partition. */
  readonly sessions: number;
}

/** A dead letter. */
export interface DeadLetterRecord {
  /** `<partition>:<entry id>`, for `replay` and `drop`. */
  readonly id: string;
  /** Id that the message had. */
  readonly messageId: string;
  /** As in `StreamMessage`. A payload that is not JSON is the text itself. */
  readonly payload: unknown;
  /** As in `StreamMessage`. */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  readonly key: string | undefined;
  readonly operationId: string | undefined;
  /** The last error, or the reason that the handler gave. */
  readonly error: string;
  /** Attempts that were made. */
  readonly attempts: number;
  /** Time of the first delivery to the group, ms since 1970 by Redis' clock. */
  readonly firstSeenAtMs: number;
  /** Time at which the message became a dead letter, ms since 1970 by Redis' clock. */
  readonly deadAtMs: number;
}

/** Selects a page of dead letters. */
export interface DeadLetterPageOptions {
  /** Most dead letters of the page, integer of 1 to 500. Default 100. */
  readonly limit?: number;
  /** `nextCursor` of the page before. Default: the first page. */
  readonly cursor?: string;
}

/** A page of dead letters, partition by partition, the oldest first. */
export interface DeadLetterPage {
  readonly items: readonly DeadLetterRecord[];
  /** `cursor` of the next page; missing after the last page. */
  readonly nextCursor?: string;
}

/** Dead letters that `replayAll` and `dropAll` handle. All conditions must hold. Default: all dead letters of the group. */
export interface DeadLetterFilter {
  /** Smallest `deadAtMs`, ms since 1970; integer >= 0. */
  readonly diedFromAtMs?: number;
  /** First `deadAtMs` that is too late, ms since 1970; integer >= 0. */
  readonly diedBeforeAtMs?: number;
}

/** A consumer of this process. */
export interface StreamConsumerHandle {
  readonly stream: string;
  readonly group: string;
  /** Handlers that run now. */
  readonly running: number;
  /** Returns the numbers of the group, all processes together. @throws errors of ScriptRegistry.run() */
  stats(): Promise<StreamStats>;
  /**
   * Stops the consumer: reads nothing new, waits `drainMs` for handlers, fires their signals, and after `abortGraceMs` hands
   * back the messages that are left. A second call returns the same promise.
   */
  stop(): Promise<void>;
}
