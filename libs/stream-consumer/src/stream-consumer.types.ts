import type { Commit, DeadLetter, RetryLater } from './handlers/outcome';

/** What a handler is given of a message. */
export interface StreamMessage<T = unknown> {
  readonly stream: string;
  readonly group: string;
  /** `<partition>:<entry id>`; unique in the stream. */
  readonly id: string;
  /** The published value, from JSON; of a stream at `keys` the object of the entry's fields, all as UTF-8 text. */
  readonly payload: T;
  /** Of a stream at `keys`: the entry's fields with the bytes that were written. Undefined for any other stream. */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  /**
   * Messages with one key are in one partition; undefined where none was given. Of a stream at `keys` the field `key`; one that
   * is not UTF-8 text or has control characters is percent-encoded.
   */
  readonly key: string | undefined;
  /** As the publisher gave it; undefined where it gave none, and of a stream at `keys`. */
  readonly operationId: string | undefined;
  /** Which attempt of this group this is, from 1; those of consumers that died count. */
  readonly attempt: number;
  /** When the group first took it, by Redis' clock. */
  readonly firstSeenAt: Date;
  /** Fires when the message may be another's: its lease is over, the handler took too long, or the app shuts down. */
  readonly signal: AbortSignal;
}

/** What a handler may resolve with; all else is taken for a failure. */
export type HandlerResult = void | undefined | Commit | RetryLater | DeadLetter;

/** Works on one message: resolving commits it, throwing has it tried again. */
export type StreamHandler<T = unknown> = (message: StreamMessage<T>) => HandlerResult | Promise<HandlerResult>;

/** A message to publish. */
export interface PublishMessage {
  /** Anything that JSON can carry. */
  readonly payload: unknown;
  /** Text of 1 to 256 characters without control characters: messages of one key share a partition. */
  readonly key?: string;
  /** Text of 1 to 256 characters: publishing it again with the same key is not a second message, for `operationTtlMs`. */
  readonly operationId?: string;
}

/** Messages to publish, one after the other: an array, or what makes them as they are needed. */
export type PublishSource = Iterable<PublishMessage> | AsyncIterable<PublishMessage>;

/** What became of a publish. */
export type PublishResult =
  | {
      readonly status: 'published';
      readonly id: string;
      /** True when an earlier call of the operation had published it. */
      readonly replayed: boolean;
    }
  | {
      /** The partition has `maxLength` messages; nothing was changed. */
      readonly status: 'full';
      readonly length: number;
    };

/** How a group stands on a stream, or on one partition of it. */
export interface StreamStats {
  /** Messages of the stream that some group has not settled. */
  readonly length: number;
  /** Taken and not settled; those that wait for a retry or are parked are among them. */
  readonly pending: number;
  /** Not yet taken. */
  readonly lag: number;
  /** Age of the oldest message that is not settled, ms; undefined when there is none. */
  readonly oldestMs: number | undefined;
  /** Of the pending ones: waiting for a retry, or to be taken over. */
  readonly due: number;
  /** Of the pending ones: waiting for an earlier one of their key. */
  readonly parked: number;
  /** Dead letters. */
  readonly dead: number;
  /** Consumers whose lease lasts; each process counts once a partition. */
  readonly sessions: number;
}

/** A message that was given up. */
export interface DeadLetterRecord {
  /** `<partition>:<id>`, for `replay` and `drop`. */
  readonly id: string;
  /** Id that the message had. */
  readonly messageId: string;
  /** As in `StreamMessage`; the text as it was where that is not JSON. */
  readonly payload: unknown;
  /** As in `StreamMessage`. */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  readonly key: string | undefined;
  readonly operationId: string | undefined;
  /** The last error, or the reason that the handler gave. */
  readonly error: string;
  /** Attempts that were made. */
  readonly attempts: number;
  /** When the group first took it. */
  readonly firstSeenAt: Date;
  /** When it was given up. */
  readonly deadAt: Date;
}

/** Dead letters, the oldest of each partition first. */
export interface DeadLetterPage {
  readonly items: readonly DeadLetterRecord[];
  /** For the next call; undefined at the end. */
  readonly next: string | undefined;
}

/** A consumer that runs in this process. */
export interface StreamConsumerHandle {
  readonly stream: string;
  readonly group: string;
  /** Messages whose handlers run now. */
  readonly running: number;
  /** How the group stands, all its processes together. @throws errors of the registry */
  stats(): Promise<StreamStats>;
  /** Takes nothing new, awaits what runs for `drainMs`, and hands the rest back. Harmless twice. */
  stop(): Promise<void>;
}
