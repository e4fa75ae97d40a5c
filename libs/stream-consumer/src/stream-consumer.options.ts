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
   * Name of the group, 1 to 100 letters, digits, `.`, `_`, `:` or `-`. Every group gets the messages of the stream. The consumers of
   * one group share them: each message goes to one consumer.
   */
  readonly group: string;
  /**
   * True if messages with the same key are handled one after the other, also across processes and retries. There is one exception: if a
   * handler still runs after `timeoutMs` or after its lease has ended, another process may begin the next message of the key. Default
   * false.
   */
  readonly ordered?: boolean;
  /**
   * Where a new group begins; only on a stream with `keys` or `retain`. `start`: at the oldest message of the stream. `end`: after the
   * last message that exists now; partitions that are added later are read from their first message. An id `<ms>-<seq>`: after the
   * message with this id, in each partition. A group that already exists continues at its position. Default `start`.
   */
  readonly from?: string;
  /**
   * Longest pause between two reads of an empty key, ms; integer >= 1. Only for a stream with `keys`, which must be polled, because the
   * program that writes it does not notify luanest. Default 500.
   */
  readonly pollMs?: number;
  /**
   * Passes an array of 1 to `size` messages to the handler, instead of one message. `size`: integer from 1 to `concurrency`, which
   * counts messages, not batches. The array has the messages that are ready now; luanest does not wait until a batch is full. Default:
   * the handler gets one message.
   */
  readonly batch?: { readonly size: number } | undefined;
}

/** Options of one consumer whose handler gets one message per call, not a batch. */
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

/** Options of StreamConsumerModule. The options of `WorkOptions`, such as `concurrency`, are the defaults of all consumers. */
export interface StreamConsumerModuleOptions extends WorkOptions, ShutdownOptions {}

/** Options of a consumer with every default filled in. */
export type ResolvedConsumerOptions = ResolvedWork &
  Required<Omit<AnyConsumerOptions, keyof WorkOptions | 'stream' | 'batch'>> & {
    readonly stream: string;
    /** Maximum number of messages in a batch; 0 if the handler gets single messages. */
    readonly batch: number;
    /** True if the handlers themselves delete the entries that they have handled (see DELETES in libs/internal). */
    readonly [DELETES]?: boolean;
  };

/** Options of the module with the defaults filled in. */
export interface ResolvedStreamConsumerModuleOptions extends ResolvedWork, ResolvedShutdown {
  /** Age from which an unfinished message makes its group count as stalled, ms. Always one minute: users cannot set it. */
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
 * Checks the options of a consumer. A missing option gets the value that the module has.
 *
 * @param owner text at the start of error messages, which names the owner of the options, such as `@StreamConsumer on Mails.send`
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
    `batch.size is ${size} messages, but concurrency is ${concurrency} messages, so no batch could be full. Raise concurrency, or ` +
      'lower batch.size.',
  );
}

function checkFrom(where: Checks, from: unknown): string {
  if (from === 'start' || from === 'end') return from;
  const parts = typeof from === 'string' ? /^(\d{1,20})-(\d{1,20})$/.exec(from)?.slice(1) : undefined;
  if (parts?.every((part) => BigInt(part) < 2n ** 64n)) return from as string;
  return where.refuse('from', from, '"start", "end" or the id of a stream entry, such as "1700000000000-0"');
}
