import { Checks, type KnownOptions } from '../../../internal/src';

/**
 * Limits of what a partition keeps of the messages that all groups have settled. Set at least one limit. luanest keeps a message
 * while it is within all limits that are set, and deletes it after that. It never deletes a message that a group has not settled.
 */
export interface Retention {
  /** The newest messages of the partition, settled or not; integer >= 1. */
  readonly count?: number;
  /**
   * Memory of the partition, bytes, as `MEMORY USAGE` of Redis estimates it; integer >= 65,536. Redis frees memory in nodes of up to 100
   * messages or 4 KB.
   */
  readonly bytes?: number;
  /** Age of a message since its publish, ms; integer >= 1,000. */
  readonly ageMs?: number;
}

/** Options of a stream. Give the same in every process that uses the stream. */
export interface StreamOptions {
  /**
   * Whole keys of streams that another program creates and writes, one for each partition, instead of `partitions`: 1 to 1,024
   * different keys, each with a hash tag or without braces. If a key has a TTL, luanest's own keys about
   * its entries get the same. The payload of a message is an object with the fields of the entry. Default: luanest makes the keys.
   */
  readonly keys?: readonly string[];
  /**
   * Names of groups; only together with `keys`. luanest deletes an entry when these groups and all other groups of the key have
   * settled it. Default: luanest deletes no entry of a stream with `keys`.
   */
  readonly deleteAfter?: readonly string[];
  /**
   * Partitions, distributed over the slots; integer from 1 to 1,024. The number may be raised at any time. Default 1.
   */
  readonly partitions?: number;
  /**
   * Keeps messages that all groups have settled, until a check after the limits: within about 12.5 s while the stream is in use. With
   * `keys`, only together with `deleteAfter`. Not with `maxLength`. If processes differ, the smallest limits count, and a process without
   * this option deletes at once. Default: a message is deleted when all groups have settled it.
   */
  readonly retain?: Retention;
  /** Number of messages of a partition from which `publish` returns `full`; integer >= 1. Not with `retain`. Default: no limit. */
  readonly maxLength?: number;
  /** Largest payload as JSON, bytes; integer >= 1. Default 65,536. */
  readonly maxPayloadBytes?: number;
  /** How long the operation id that a caller gave is remembered, ms; integer >= 1,000. Default 600,000. */
  readonly operationRetentionMs?: number;
}

/** A stream as a value, for messages of any type: its name and its options. */
export interface AnyStream extends StreamOptions {
  /** 1 to 100 letters, digits, `.`, `_`, `:` or `-`. */
  readonly name: string;
}

declare const MESSAGE: unique symbol;

/** A stream as a value, typed by its messages. Made by `defineStream`. */
export interface StreamDefinition<Message = unknown> extends AnyStream {
  /** For the compiler only; no value has this property. */
  readonly [MESSAGE]?: (message: Message) => Message;
}

/** Options of a stream with every default filled in. `maxLength` 0: no limit. `keys` empty: luanest makes the keys. */
export type ResolvedStreamOptions = Required<Omit<StreamOptions, 'retain'>> & {
  /** Each limit; -1 for none. Undefined: a message is deleted when all groups have settled it. */
  readonly retain: Required<Retention> | undefined;
};

/** Pattern of names of streams and groups. */
export const NAME = /^[\w.:-]{1,100}$/;
/** Description of `NAME` for errors. */
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
 * Makes a value of a stream: its name, its options and the type of its messages. Pass the value to `publish`, `handle`,
 * `@StreamConsumer` and every other call that takes the name of a stream.
 *
 * A value with only a name has the options with which the process already uses the stream, or the defaults. With options, pass the value, or one with the same options, in every process and to every call.
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

/** Returns the name of a stream that was given by its name or as a value; undefined for any other value. */
export function nameOf(stream: string | AnyStream): string | undefined {
  if (typeof stream === 'string') return stream;
  return typeof stream === 'object' && (stream as AnyStream | null) !== null ? stream.name : undefined;
}

/** Returns the options of a value of `defineStream`; undefined if the value has only a name. */
export function optionsOf({ name: _, ...options }: AnyStream): StreamOptions | undefined {
  return Object.keys(options).length === 0 ? undefined : options;
}

/** Checks the names of stream options. @throws InvalidOptionError for an unknown name */
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
      'retain and keys are set without deleteAfter, so no message is deleted anyway. Leave out retain, or set deleteAfter.',
    );
  }
  if (maxLength !== undefined) {
    throw where.error(
      'retain and maxLength are both set, but a publisher does not know which messages are settled, so those that are kept would make the stream full. Leave out one of them.',
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
    where.refuse('keys', keys, 'a list of 1 to 1,024 different, non-empty strings');
  }
  if (keys.length > 0 && partitions !== undefined) {
    throw where.error('partitions and keys are both set. Leave out partitions, because each key is a partition.');
  }
  return Object.freeze([...(keys as readonly string[])]);
}

function checkGroups(where: Checks, { keys, deleteAfter = [] }: StreamOptions): readonly string[] {
  if (!Array.isArray(deleteAfter) || new Set(deleteAfter).size !== deleteAfter.length) {
    where.refuse('deleteAfter', deleteAfter, 'a list of names of groups, none of them twice');
  }
  if (deleteAfter.length > 0 && keys === undefined) {
    throw where.error(
      'deleteAfter is set without keys. Leave it out: without keys, a message is deleted when all groups have settled it.',
    );
  }
  return Object.freeze(deleteAfter.map((name, i) => where.text(`deleteAfter[${i}]`, name, NAME, NAME_TEXT)));
}
