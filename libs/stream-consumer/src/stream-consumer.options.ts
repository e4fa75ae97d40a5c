import {
  Checks,
  DELETES,
  KNOWN_SHUTDOWN,
  resolveShutdown,
  type ResolvedShutdown,
  type KnownOptions,
  type ShutdownOptions,
} from '../../internal/src';
import { KNOWN_WORK, type ResolvedWork, resolveWork, type WorkOptions } from '../../worker/src';
import {
  checkStreamName,
  NAME,
  NAME_TEXT,
  nameOf,
  type AnyStream,
  type StreamDefinition,
} from './streams/stream-options';

/** Options of one consumer, for messages of any type. */
export interface AnyConsumerOptions extends WorkOptions {
  /** Stream: its name of 1 to 100 letters, digits, `.`, `_`, `:` or `-`, or the value that `defineStream` returned. */
  readonly stream: string | AnyStream;
  /**
   * Name of the group, 1 to 100 letters, digits, `.`, `_`, `:` or `-`. Each group gets the messages of the stream; the
   * consumers of a group share them.
   */
  readonly group: string;
  /**
   * True to handle messages of one key one after the other, across all processes and retries. In another process, the next
   * message may begin while a handler runs on after `timeoutMs` or without its lease. Default false.
   */
  readonly ordered?: boolean;
  /**
   * On a stream with `keys` or `retain`: where a new group begins. `start`: with the oldest message that the stream has. `end`: with the
   * next message; in partitions that are added later, with the first one. An id `<ms>-<seq>`: after the message with that id, in each
   * partition. A group that exists continues where it is. Default `start`.
   */
  readonly from?: string;
  /**
   * On a stream with `keys`, whose writers wake nobody: longest pause between two reads of an empty key while a handler is free, ms;
   * integer >= 1. Default 500.
   */
  readonly pollMs?: number;
  /**
   * Makes the handler get an array of 1 to `size` messages that are ready, instead of one message; integer from 1 to `concurrency`,
   * which still counts messages. No message waits until a batch is full. Default: the handler gets one message.
   */
  readonly batch?: { readonly size: number } | undefined;
}

/** Options of one consumer whose handler gets one message. */
export interface StreamConsumerOptions<Message = unknown> extends AnyConsumerOptions {
  /** Stream: its name of 1 to 100 letters, digits, `.`, `_`, `:` or `-`, or the value that `defineStream` returned. */
  readonly stream: string | StreamDefinition<Message>;
  readonly batch?: undefined;
}

/** Options of one consumer whose handler gets batches. */
export interface StreamBatchOptions<Message = unknown> extends AnyConsumerOptions {
  /** Stream: as in `StreamConsumerOptions`. */
  readonly stream: string | StreamDefinition<Message>;
  readonly batch: { readonly size: number };
}

/** Options of StreamConsumerModule. Those of a worker, such as `concurrency`, are defaults of each consumer. */
export interface StreamConsumerModuleOptions extends WorkOptions, ShutdownOptions {}

/** Options of a consumer with every default filled in. */
export type ResolvedConsumerOptions = ResolvedWork &
  Required<Omit<AnyConsumerOptions, keyof WorkOptions | 'stream' | 'batch'>> & {
    readonly stream: string;
    /** Maximum number of messages of a batch; 0 if the handler gets one message. */
    readonly batch: number;
    /** See DELETES in libs/internal. */
    readonly [DELETES]?: boolean;
  };

/** Options of the module with the defaults filled in. */
export interface ResolvedStreamConsumerModuleOptions extends ResolvedWork, ResolvedShutdown {
  /** A group counts as stalled when its oldest unsettled message is this old, ms. Not an option: a minute is long for each group. */
  readonly stalledAfterMs: number;
}

const checks = new Checks('StreamConsumerModule');

const KNOWN_OF_CONSUMER: KnownOptions<AnyConsumerOptions> = {
  stream: true,
  group: true,
  ordered: true,
  from: true,
  pollMs: true,
  batch: true,
  ...KNOWN_WORK,
};
const KNOWN: KnownOptions<StreamConsumerModuleOptions> = {
  ...KNOWN_WORK,
  ...KNOWN_SHUTDOWN,
};

/** Checks the options of the module and fills in the defaults. @throws InvalidOptionError for an invalid option */
export function resolveOptions(options: StreamConsumerModuleOptions): ResolvedStreamConsumerModuleOptions {
  checks.options('', options, KNOWN);
  return Object.freeze({
    ...resolveWork(options, checks),
    ...resolveShutdown(options, checks),
    stalledAfterMs: 60_000,
  });
}

/**
 * Checks the options of a consumer and fills in those of the module.
 *
 * @param owner owner of the options, with which errors begin, such as `@StreamConsumer on Mails.send`
 * @throws InvalidOptionError for an invalid option
 */
export function resolveConsumer(
  options: AnyConsumerOptions,
  module: ResolvedStreamConsumerModuleOptions,
  owner = 'StreamConsumerService.handle',
): ResolvedConsumerOptions {
  const where = new Checks(owner);
  where.options('', options, KNOWN_OF_CONSUMER);
  const { ordered = false, from = 'start', pollMs = 500 } = options;
  const work = resolveWork(options, where, module);
  return Object.freeze({
    ...work,
    stream: checkStreamName(where, 'stream', nameOf(options.stream) ?? options.stream),
    group: where.text('group', options.group, NAME, NAME_TEXT),
    ordered: where.flag('ordered', ordered),
    from: checkFrom(where, from),
    pollMs: where.integer('pollMs', pollMs, 1),
    batch: checkBatch(where, options.batch, work.concurrency),
    [DELETES]: (options as { readonly [DELETES]?: boolean })[DELETES] === true,
  });
}

function checkBatch(where: Checks, batch: AnyConsumerOptions['batch'], concurrency: number): number {
  if (batch === undefined) return 0;
  const size = where.integer('batch.size', where.options('batch', batch, { size: true }).size, 1);
  if (size <= concurrency) return size;
  throw where.error(
    `batch.size is ${size}, but concurrency is ${concurrency}, so no batch could be full. Raise concurrency: it counts messages.`,
  );
}

function checkFrom(where: Checks, from: unknown): string {
  if (from === 'start' || from === 'end') return from;
  const parts = typeof from === 'string' ? /^(\d{1,20})-(\d{1,20})$/.exec(from)?.slice(1) : undefined;
  if (parts?.every((part) => BigInt(part) < 2n ** 64n)) return from as string;
  return where.refuse('from', from, '"start", "end" or an id "<ms>-<seq>"');
}
