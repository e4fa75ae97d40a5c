import { Checks, type KnownOptions } from '../../../internal/src';

/** Options of a stream. Give the same in every process that uses the stream. */
export interface StreamOptions {
  /**
   * Whole keys of streams that another program writes, one for each partition, instead of `partitions`: 1 to 1,024 different
   * keys, each with a hash tag or without braces. luanest never creates these keys. What it stores about an entry expires
   * with the key, and the payload is the object of the entry's fields. Default: none, luanest makes the keys.
   */
  readonly keys?: readonly string[];
  /**
   * With `keys`: names of groups. An entry is deleted when each of them, and every other group on the key, has settled it.
   * Default: none, and luanest never deletes an entry of such a stream.
   */
  readonly deleteAfter?: readonly string[];
  /** Partitions, each in a slot of its own; integer of 1 to 1,024. Default: the module's. It may be raised at any time. */
  readonly partitions?: number;
  /** Messages of a partition at which `publish` returns `full`; integer >= 1. Default: no limit. */
  readonly maxLength?: number;
  /** Largest payload as JSON, bytes; integer >= 1. Default: the module's. */
  readonly maxPayloadBytes?: number;
  /** How long an operation id is remembered, ms; integer >= 1,000. Default: the module's. */
  readonly operationTtlMs?: number;
}

/** A stream as a value, whatever its messages. */
export interface AnyStream extends StreamOptions {
  /** 1 to 100 letters, digits, `.`, `_`, `:` or `-`. */
  readonly name: string;
}

declare const MESSAGE: unique symbol;

/** A stream as a value, typed by its messages. Made by `defineStream`. */
export interface StreamDefinition<Message = unknown> extends AnyStream {
  /** For the compiler only: never set. */
  readonly [MESSAGE]?: (message: Message) => Message;
}

/** Options of a stream with every default filled in. `maxLength` is 0 for no limit; `keys` is empty for luanest's own. */
export type ResolvedStreamOptions = Required<StreamOptions>;

/** Options of the module that are defaults of streams. */
export type StreamDefaults = Pick<ResolvedStreamOptions, 'partitions' | 'maxPayloadBytes' | 'operationTtlMs'>;

/** Pattern of names of streams and groups. */
export const NAME = /^[\w.:-]{1,100}$/;
/** Description of that pattern. */
export const NAME_TEXT = '1 to 100 letters, digits, ".", "_", ":" or "-"';

const DEFAULTS: StreamDefaults = { partitions: 1, maxPayloadBytes: 65_536, operationTtlMs: 600_000 };

const KNOWN: KnownOptions<StreamOptions> = {
  keys: true,
  deleteAfter: true,
  partitions: true,
  maxLength: true,
  maxPayloadBytes: true,
  operationTtlMs: true,
};

/**
 * Makes a stream a value, typed by its messages. Pass it to `publish`, `consume`, `@StreamConsumer` and every other call that
 * takes the name of a stream.
 *
 * With a name alone, the stream has the options that the module's `streams` give it, or the defaults. With options, every
 * process and every call must use the value, or the same options.
 *
 * @param options `name`, and the options of the stream
 * @throws InvalidOptionError for invalid options
 */
export function defineStream<Message = unknown>(options: AnyStream): StreamDefinition<Message> {
  const where = new Checks('defineStream');
  where.options('', options, { name: true, ...KNOWN });
  checkStreamName(where, 'name', options.name);
  resolveStream(where, options, DEFAULTS);
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

/** Returns the options of the stream; undefined for one with a name alone. */
export function optionsOf({ name: _, ...options }: AnyStream): StreamOptions | undefined {
  return Object.keys(options).length === 0 ? undefined : options;
}

/** Refuses options of a stream that it does not have. @throws InvalidOptionError for an unknown name of an option */
export function checkKnown(where: Checks, name: string, options: StreamOptions): void {
  where.options(name, options, KNOWN);
}

/** Checks the options of a stream and fills in the defaults. @throws InvalidOptionError for an invalid option */
export function resolveStream(
  where: Checks,
  given: StreamOptions | undefined,
  defaults: StreamDefaults,
): ResolvedStreamOptions {
  const { maxLength } = given ?? {};
  const keys = checkKeys(where, given);
  return Object.freeze({
    keys,
    deleteAfter: checkGroups(where, given),
    partitions: keys.length || where.integer('partitions', given?.partitions ?? defaults.partitions, 1, 1_024),
    maxLength: maxLength === undefined ? 0 : where.integer('maxLength', maxLength, 1),
    maxPayloadBytes: where.integer('maxPayloadBytes', given?.maxPayloadBytes ?? defaults.maxPayloadBytes, 1),
    operationTtlMs: where.integer('operationTtlMs', given?.operationTtlMs ?? defaults.operationTtlMs, 1_000),
  });
}

function checkKeys(where: Checks, { keys, partitions }: StreamOptions = {}): readonly string[] {
  if (keys === undefined) return [];
  const isList = Array.isArray(keys) && keys.length >= 1 && keys.length <= 1_024 && new Set(keys).size === keys.length;
  if (!isList || keys.some((key) => typeof key !== 'string' || key === '')) {
    where.refuse('keys', keys, 'a list of 1 to 1,024 different, non-empty strings');
  }
  if (keys.length > 0 && partitions !== undefined) {
    throw where.error('partitions and keys are set. Leave one of them out.');
  }
  return Object.freeze([...(keys as readonly string[])]);
}

function checkGroups(where: Checks, { keys, deleteAfter = [] }: StreamOptions = {}): readonly string[] {
  if (!Array.isArray(deleteAfter) || new Set(deleteAfter).size !== deleteAfter.length) {
    where.refuse('deleteAfter', deleteAfter, 'different names of groups');
  }
  if (deleteAfter.length > 0 && keys === undefined) {
    throw where.error('deleteAfter needs keys. Without keys an entry is deleted after all groups of the stream.');
  }
  return Object.freeze(deleteAfter.map((name, i) => where.text(`deleteAfter[${i}]`, name, NAME, NAME_TEXT)));
}
