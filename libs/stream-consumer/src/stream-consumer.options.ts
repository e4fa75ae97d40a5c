import { Checks, type KnownOptions } from '../../internal/src';

/** Options that a consumer may have of its own; the module has their defaults. */
export interface ConsumerDefaults {
  /** Handlers that run at a time in this process, integer of 1 to 10,000. Default 16. */
  readonly concurrency?: number;
  /** How long messages outlive a process that dies before others take them over, ms; integer >= 100. Default 30,000. */
  readonly leaseMs?: number;
  /** Attempts before a message becomes a dead letter, integer of 1 to 10,000. Default 5. */
  readonly attempts?: number;
  /** Pause after the first failure, ms; doubled at each further one, and shortened by up to half at random. Default 1,000. */
  readonly backoffMs?: number;
  /** Longest pause, ms. Default 60,000. */
  readonly maxBackoffMs?: number;
  /** How long a handler may run before the attempt counts as failed, ms; integer >= 1. Default 10 minutes. */
  readonly handlerTimeoutMs?: number;
  /** Longest pause between two looks at an empty partition, ms; integer >= 1. A publish wakes at once. Default 500. */
  readonly pollMs?: number;
  /** With `ordered`: keys of a partition with a message in work or waiting, from which on nothing new is read, 1 to 100,000. Default 10,000. */
  readonly maxKeys?: number;
}

/** Options of one consumer. */
export interface StreamConsumerOptions extends ConsumerDefaults {
  /** Name of the stream: 1 to 100 letters, digits, `.`, `_`, `:` or `-`. */
  readonly stream: string;
  /** Name of the group, likewise. Each group gets every message; the consumers of one share them. */
  readonly group: string;
  /** Whether messages with one key are handled one after the other, in all processes and through retries. Default false. */
  readonly ordered?: boolean;
  /**
   * Where the group begins if it has to be made, on a stream with `keys`: `start`, at the first entry that is there; `end`,
   * with what is added from now on; or an id `<ms>-<seq>`, with the entries after it. Default `start`.
   */
  readonly from?: string;
}

/** Options of a stream; the same wherever it is used. */
export interface StreamOptions {
  /**
   * Whole keys of streams that another program writes, one a partition, instead of `partitions`: 1 to 1,024, no two alike,
   * each a key that has a hash tag or no braces. They are never made here, what is noted of them expires when they do, and
   * the payload of an entry is the object of its fields. Default: none, the keys are of this lib.
   */
  readonly keys?: readonly string[];
  /**
   * With `keys`: groups after which entries are deleted, namely when each of them, and every other group that is on the key,
   * has settled the entry. Give the same in each app. Default: none, and no entry is ever deleted here.
   */
  readonly deleteAfter?: readonly string[];
  /** Parts of the stream, each in a slot of its own, integer of 1 to 1,024. Default: the module's. May be raised at any time. */
  readonly partitions?: number;
  /** Messages of a partition from which on publishing is refused, integer >= 1. Default: no bound. */
  readonly maxLength?: number;
  /** Largest payload as JSON, bytes; integer >= 1. Default: the module's. */
  readonly maxPayloadBytes?: number;
  /** How long an operation id is remembered, ms; integer >= 1,000. Default: the module's. */
  readonly operationTtlMs?: number;
}

/** Options of StreamConsumerModule. */
export interface StreamConsumerModuleOptions extends ConsumerDefaults {
  /** Options by the names of streams. Streams that are not named have the defaults. */
  readonly streams?: Readonly<Record<string, StreamOptions>>;
  /** Default of `partitions`. Default 1. */
  readonly partitions?: number;
  /** Default of `maxPayloadBytes`. Default 65,536. */
  readonly maxPayloadBytes?: number;
  /** Default of `operationTtlMs`. Default 600,000. */
  readonly operationTtlMs?: number;
  /** How long shutdown waits for handlers before it aborts them, ms; integer >= 0. Default 10,000. */
  readonly drainMs?: number;
  /** How long it waits after the abort before it hands their messages back, ms; integer >= 0. Default 500. */
  readonly abortGraceMs?: number;
  /** How often each process looks after its groups and tells how they stand, ms; integer >= 10. Default 10,000. */
  readonly watchEveryMs?: number;
  /** Age of the oldest unsettled message from which on a group counts as stalled, ms; integer >= 1. Default 60,000. */
  readonly stalledAfterMs?: number;
}

/** Options of a consumer with every default filled in. */
export type ResolvedConsumerOptions = Required<StreamConsumerOptions>;

/** Options of a stream with every default filled in; `maxLength` 0 for no bound. */
export type ResolvedStreamOptions = Required<StreamOptions>;

/** Options with every default filled in. */
export type ResolvedStreamConsumerModuleOptions = Required<StreamConsumerModuleOptions>;

const NAME = /^[\w.:-]{1,100}$/;

const NAME_TEXT = '1 to 100 letters, digits, ".", "_", ":" or "-"';
const checks = new Checks('StreamConsumerModule');

const BOUNDS: Record<keyof ConsumerDefaults, readonly [byDefault: number, min: number, max?: number]> = {
  concurrency: [16, 1, 10_000],
  leaseMs: [30_000, 100],
  attempts: [5, 1, 10_000],
  backoffMs: [1_000, 0],
  maxBackoffMs: [60_000, 0],
  handlerTimeoutMs: [600_000, 1],
  pollMs: [500, 1],
  maxKeys: [10_000, 1, 100_000],
};

const KNOWN_OF_CONSUMER: KnownOptions<StreamConsumerOptions> = {
  stream: true,
  group: true,
  ordered: true,
  from: true,
  ...BOUNDS,
};
const KNOWN_OF_STREAM: KnownOptions<StreamOptions> = {
  keys: true,
  deleteAfter: true,
  partitions: true,
  maxLength: true,
  maxPayloadBytes: true,
  operationTtlMs: true,
};
const KNOWN: KnownOptions<StreamConsumerModuleOptions> = {
  ...BOUNDS,
  streams: true,
  partitions: true,
  maxPayloadBytes: true,
  operationTtlMs: true,
  drainMs: true,
  abortGraceMs: true,
  watchEveryMs: true,
  stalledAfterMs: true,
};

function consumerDefaults(
  given: ConsumerDefaults,
  where: Checks,
  defaults?: ConsumerDefaults,
): Required<ConsumerDefaults> {
  const names = Object.keys(BOUNDS) as (keyof ConsumerDefaults)[];
  const entries = names.map((name) => {
    const [byDefault, min, max] = BOUNDS[name];
    return [name, where.integer(name, given[name] ?? defaults?.[name] ?? byDefault, min, max)];
  });
  return Object.fromEntries(entries) as Required<ConsumerDefaults>;
}

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveOptions(options: StreamConsumerModuleOptions): ResolvedStreamConsumerModuleOptions {
  checks.options('', options, KNOWN);
  const resolved = {
    ...consumerDefaults(options, checks),
    streams: checks.object('streams', options.streams ?? {}),
    partitions: checks.integer('partitions', options.partitions ?? 1, 1, 1_024),
    maxPayloadBytes: checks.integer('maxPayloadBytes', options.maxPayloadBytes ?? 65_536, 1),
    operationTtlMs: checks.integer('operationTtlMs', options.operationTtlMs ?? 600_000, 1_000),
    drainMs: checks.integer('drainMs', options.drainMs ?? 10_000, 0),
    abortGraceMs: checks.integer('abortGraceMs', options.abortGraceMs ?? 500, 0),
    watchEveryMs: checks.integer('watchEveryMs', options.watchEveryMs ?? 10_000, 10),
    stalledAfterMs: checks.integer('stalledAfterMs', options.stalledAfterMs ?? 60_000, 1),
  };
  for (const name of Object.keys(resolved.streams)) resolveStream(name, resolved);
  return Object.freeze(resolved);
}

function checkedKeys(where: Checks, { keys = [], partitions }: StreamOptions = {}): readonly string[] {
  const isList = Array.isArray(keys) && keys.length <= 1_024 && new Set(keys).size === keys.length;
  if (!isList || keys.some((key) => typeof key !== 'string' || key === '')) {
    where.refuse('keys', keys, '1 to 1,024 different keys');
  }
  if (keys.length > 0 && partitions !== undefined) {
    throw where.error('partitions and keys are set. Leave one of them out.');
  }
  return Object.freeze([...(keys as readonly string[])]);
}

function checkedGroups(where: Checks, { keys, deleteAfter = [] }: StreamOptions = {}): readonly string[] {
  if (!Array.isArray(deleteAfter) || new Set(deleteAfter).size !== deleteAfter.length) {
    where.refuse('deleteAfter', deleteAfter, 'different names of groups');
  }
  if (deleteAfter.length > 0 && keys === undefined) {
    throw where.error('deleteAfter needs keys. Without keys an entry is deleted after all groups of the stream.');
  }
  return Object.freeze(deleteAfter.map((name, i) => where.text(`deleteAfter[${i}]`, name, NAME, NAME_TEXT)));
}

function checkedFrom(where: Checks, from: unknown): string {
  if (from === 'start' || from === 'end') return from;
  const parts = typeof from === 'string' ? /^(\d{1,20})-(\d{1,20})$/.exec(from)?.slice(1) : undefined;
  if (parts?.every((part) => BigInt(part) < 2n ** 64n)) return from as string;
  return where.refuse('from', from, '"start", "end" or an id "<ms>-<seq>"');
}

/** Options of a stream, defaults filled in. @throws InvalidOptionError as `resolveOptions` */
export function resolveStream(
  name: string,
  module: ResolvedStreamConsumerModuleOptions,
  options?: StreamOptions,
): ResolvedStreamOptions {
  checks.text('stream', name, NAME, NAME_TEXT);
  const given = options ?? (Object.hasOwn(module.streams, name) ? module.streams[name] : undefined);
  const at = `streams["${name}"]`;
  if (given !== undefined) checks.options(at, given, KNOWN_OF_STREAM);
  const where = checks.in(at);
  const { maxLength } = given ?? {};
  const keys = checkedKeys(where, given);
  return Object.freeze({
    keys,
    deleteAfter: checkedGroups(where, given),
    partitions: keys.length || where.integer('partitions', given?.partitions ?? module.partitions, 1, 1_024),
    maxLength: maxLength === undefined ? 0 : where.integer('maxLength', maxLength, 1),
    maxPayloadBytes: where.integer('maxPayloadBytes', given?.maxPayloadBytes ?? module.maxPayloadBytes, 1),
    operationTtlMs: where.integer('operationTtlMs', given?.operationTtlMs ?? module.operationTtlMs, 1_000),
  });
}

/**
 * Checks a consumer's options and fills in the module's.
 *
 * @param place where the options were given, for messages
 * @throws InvalidOptionError as `resolveOptions`
 */
export function resolveConsumer(
  options: StreamConsumerOptions,
  module: ResolvedStreamConsumerModuleOptions,
  place = 'StreamConsumerService.consume',
): ResolvedConsumerOptions {
  const where = new Checks(place);
  where.options('', options, KNOWN_OF_CONSUMER);
  const { ordered = false, from = 'start' } = options;
  return Object.freeze({
    ...consumerDefaults(options, where, module),
    stream: where.text('stream', options.stream, NAME, NAME_TEXT),
    group: where.text('group', options.group, NAME, NAME_TEXT),
    ordered: where.flag('ordered', ordered),
    from: checkedFrom(where, from),
  });
}
