import { Checks, type KnownOptions } from '../../../internal/src';

/**
 * Limits up to which a partition keeps messages that all groups have handled or dead-lettered. Such a message is deleted when it exceeds
 * one of the limits. Set at least one. A message that some group has not finished is never deleted.
 */
export interface Retention {
  /** Number of messages to keep, the newest of the partition; integer >= 1. Messages that some group has not finished count, too. */
  readonly count?: number;
  /**
   * Maximum memory of the partition, bytes, as estimated by the command MEMORY USAGE; integer >= 65,536. This is not exact, since Redis
   * frees memory in nodes of up to 100 messages or 4 KB.
   */
  readonly bytes?: number;
  /** Maximum time since the publish of a message, ms; integer >= 1,000. */
  readonly ageMs?: number;
}

/** Options of a stream. Every process that uses the stream must set the same options. */
export interface StreamOptions {
  /**
   * Keys of Redis streams that another program creates and writes. A list of 1 to 1,024 complete keys; luanest adds no prefix. Each key is
   * a partition, so do not set `partitions`. A key with braces must have a hash tag. The payload of a message is an object with the fields
   * of the entry. If a key has a TTL, the keys in which luanest stores its data about the entries get the same TTL. Default: luanest makes
   * the keys.
   */
  readonly keys?: readonly string[];
  /**
   * Names of groups; only together with `keys`. When these and all other groups of a key have finished an entry, luanest deletes it.
   * Default: luanest deletes no entry of a stream with `keys`.
   */
  readonly deleteAfter?: readonly string[];
  /**
   * Number of partitions, which are distributed over the slots of Redis Cluster; integer from 1 to 1,024. You can raise the number at
   * any time. Default 1.
   */
  readonly partitions?: number;
  /**
   * Keeps messages that all groups have handled or dead-lettered, up to these limits. A periodic cleanup deletes those beyond the limits,
   * within about 12.5 s while the stream is in use. Cannot be combined with `maxLength`. With `keys`, `deleteAfter` is required too. If
   * processes set different limits, the smallest limits count, and a process without this option deletes messages at once. Default: a
   * message is deleted when all groups have handled or dead-lettered it.
   */
  readonly retain?: Retention;
  /**
   * Maximum number of messages in a partition; integer >= 1. If a partition has as many, `publish` adds nothing and returns `full`.
   * Cannot be combined with `retain`. Default: no limit.
   */
  readonly maxLength?: number;
  /** Maximum size of a payload as JSON, bytes; integer >= 1. Default 65,536. */
  readonly maxPayloadBytes?: number;
  /** How long Redis remembers the `operationId` of a publish, ms; integer >= 1,000. Default 600,000. */
  readonly operationRetentionMs?: number;
}

/** Definition of a stream for messages of any type: its name and its options. */
export interface AnyStream extends StreamOptions {
  /** 1 to 100 letters, digits, `.`, `_`, `:` or `-`. */
  readonly name: string;
}

declare const MESSAGE: unique symbol;

/** Definition of a stream that `defineStream` returned, with the type of its messages. */
export interface StreamDefinition<Message = unknown> extends AnyStream {
  /** Marks the type of the messages for the compiler. No value has this property. */
  readonly [MESSAGE]?: (message: Message) => Message;
}

/** Options of a stream with the defaults filled in. `maxLength` 0: no limit. `keys` empty: luanest makes the keys. */
export type ResolvedStreamOptions = Required<Omit<StreamOptions, 'retain'>> & {
  /** Limits for messages that all groups have finished; -1 for a limit that is not set. Undefined: such messages are deleted at once. */
  readonly retain: Required<Retention> | undefined;
};

export const NAME = /^[\w.:-]{1,100}$/;
/** Text about valid names for error messages. */
export const NAME_TEXT = '1 to 100 letters, digits, ".", "_", ":" or "-"';

const KNOWN: KnownOptions<StreamOptions> = {
  keys: true,
  deleteAfter: true,
  partitions: true,
  retain: true,
  maxLength: true,
  maxPayloadBytes: true,
  operationRetentionMs: true,
};

/**
 * Defines a stream: its name, its options and the type of its messages. Pass the returned value to `publish`, `handle`,
 * `@StreamConsumer` and every other call that takes the name of a stream.
 *
 * If you set only `name`, the stream has the options with which this process already uses it, or the defaults. If you set options, use
 * the returned value, or one with the same options, in every process and for every call.
 *
 * @param options `name`, and the options of the stream
 * @throws InvalidOptionError for invalid options
 */
export function defineStream<Message = unknown>(options: AnyStream): StreamDefinition<Message> {
  const where = new Checks('defineStream');
  where.options('', options, { name: true, ...KNOWN });
  checkStreamName(where, 'name', options.name);
  resolveStream(where, options);
  return Object.freeze({ ...options });
}

/** Checks the name of a stream. @throws InvalidOptionError for an invalid name */
export function checkStreamName(where: Checks, option: string, name: unknown): string {
  return where.text(option, name, NAME, NAME_TEXT);
}

/** Returns the name of a stream, from its name or from a value of `defineStream`; undefined for any other value. */
export function nameOf(stream: string | AnyStream): string | undefined {
  if (typeof stream === 'string') return stream;
  return typeof stream === 'object' && (stream as AnyStream | null) !== null ? stream.name : undefined;
}

/** Returns the options of a value of `defineStream`; undefined if it has only a name. */
export function optionsOf({ name: _, ...options }: AnyStream): StreamOptions | undefined {
  return Object.keys(options).length === 0 ? undefined : options;
}

/** Checks that all properties are known options of a stream. @throws InvalidOptionError for an unknown option */
export function checkKnown(where: Checks, options: StreamOptions): void {
  where.options('', options, KNOWN);
}

/**
 * Checks the options of a stream and fills in the defaults.
 *
 * @param partitions default of `partitions`; only tests change it
 * @throws InvalidOptionError for an invalid option
 */
export function resolveStream(where: Checks, given: StreamOptions = {}, partitions = 1): ResolvedStreamOptions {
  const { maxLength } = given;
  const keys = checkKeys(where, given);
  return Object.freeze({
    keys,
    deleteAfter: checkGroups(where, given),
    partitions: keys.length || where.integer('partitions', given.partitions ?? partitions, 1, 1_024),
    retain: checkRetention(where, given),
    maxLength: maxLength === undefined ? 0 : where.integer('maxLength', maxLength, 1),
    maxPayloadBytes: where.integer('maxPayloadBytes', given.maxPayloadBytes ?? 65_536, 1),
    operationRetentionMs: where.integer('operationRetentionMs', given.operationRetentionMs ?? 600_000, 1_000),
  });
}

function checkRetention(where: Checks, given: StreamOptions): Required<Retention> | undefined {
  const { retain, keys, deleteAfter = [], maxLength } = given;
  if (retain === undefined) return undefined;
  const { count, bytes, ageMs } = where.options('retain', retain, { count: true, bytes: true, ageMs: true });
  if (count === undefined && bytes === undefined && ageMs === undefined) {
    throw where.error(
      'retain has no limit. Set at least one of count, bytes and ageMs, or nothing would ever be deleted.',
    );
  }
  if (keys !== undefined && deleteAfter.length === 0) {
    throw where.error(
      'retain and keys are set without deleteAfter, so retain has no effect: no message is deleted. Leave out retain, or set deleteAfter.',
    );
  }
  if (maxLength !== undefined) {
    throw where.error(
      'retain and maxLength are both set. The messages that retain keeps would count towards maxLength, and make the stream full. Leave ' +
        'out one of the two.',
    );
  }
  const limits = where.in('retain');
  const limit = (name: keyof Retention, value: number | undefined, min: number): number =>
    value === undefined ? -1 : limits.integer(name, value, min, Number.MAX_SAFE_INTEGER);
  return Object.freeze({
    count: limit('count', count, 1),
    bytes: limit('bytes', bytes, 65_536),
    ageMs: limit('ageMs', ageMs, 1_000),
  });
}

function checkKeys(where: Checks, { keys, partitions }: StreamOptions): readonly string[] {
  if (keys === undefined) return [];
  const isList = Array.isArray(keys) && keys.length >= 1 && keys.length <= 1_024 && new Set(keys).size === keys.length;
  if (!isList || keys.some((key) => typeof key !== 'string' || key === '')) {
    where.refuse('keys', keys, 'an array of 1 to 1,024 different keys in Redis, none of them empty');
  }
  if (keys.length > 0 && partitions !== undefined) {
    throw where.error('partitions and keys are both set, but each key is one partition. Leave out partitions.');
  }
  return Object.freeze([...(keys as readonly string[])]);
}

function checkGroups(where: Checks, { keys, deleteAfter = [] }: StreamOptions): readonly string[] {
  if (!Array.isArray(deleteAfter) || new Set(deleteAfter).size !== deleteAfter.length) {
    where.refuse('deleteAfter', deleteAfter, 'an array of different names of groups');
  }
  if (deleteAfter.length > 0 && keys === undefined) {
    throw where.error(
      'deleteAfter is set without keys, so it has no effect: a message is deleted when all groups are done with it. Leave out deleteAfter.',
    );
  }
  return Object.freeze(deleteAfter.map((name, i) => where.text(`deleteAfter[${i}]`, name, NAME, NAME_TEXT)));
}
