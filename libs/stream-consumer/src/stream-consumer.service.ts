import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import {
  Checks,
  CONSOLE,
  draining,
  INSPECT,
  InvalidInputError,
  OUTBOX,
  TRANSPORT,
  type KnownOptions,
  type Page,
} from '../../internal/src';
import { ConsumerSet } from './consumer/consumer-set';
import type { InvokeBatch } from './consumer/batches';
import type { Invoke } from './consumer/handler-runner';
import {
  resolveConsumer,
  resolveOptions,
  type AnyConsumerOptions,
  type ResolvedConsumerOptions,
  type ResolvedStreamConsumerModuleOptions,
  type StreamBatchOptions,
  type StreamConsumerOptions,
} from './stream-consumer.options';
import type {
  DeadLetterFilter,
  DeadLetter,
  DeadLetterPageOptions,
  PublishOptions,
  PublishResult,
  PublishMessage,
  PublishSource,
  PublishWatcher,
  ReplayRange,
  StreamBatchHandler,
  StreamConsumerHandle,
  StreamHandler,
  StreamInspection,
  StreamOutbox,
  StreamStats,
} from './stream-consumer.types';
import { DeadLetters } from './streams/dead-letters';
import { forgetGroup, statsOf } from './streams/groups';
import { checkMessage, publishAll, Publisher } from './streams/publisher';
import { RangeReplays } from './streams/range-replays';
import { StreamCatalog, type Stream } from './streams/stream-catalog';
import { StreamConsole } from './streams/stream-console';
import {
  checkStreamName,
  NAME,
  NAME_TEXT,
  nameOf,
  type AnyStream,
  type StreamDefinition,
} from './streams/stream-options';

const KNOWN_OF_PUBLISH: KnownOptions<PublishOptions> = { key: true, operationId: true, operationRetentionMs: true };
const publishing = new Checks('StreamConsumerService.publish');
const pausing = new Checks('StreamConsumerService', (message) => new InvalidInputError(message));
const forgetting = new Checks('StreamConsumerService.forgetStream');

/**
 * Publishes messages, runs consumers, and manages groups and dead letters. Each `stream` is the name of a stream, or the
 * value that `defineStream` returned.
 */
export class StreamConsumerService implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'StreamConsumerService';

  private readonly publisher: Publisher;
  private readonly letters: DeadLetters;
  private readonly ranges: RangeReplays;
  private closing: Promise<void> | undefined;
  private watcher: PublishWatcher | undefined;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedStreamConsumerModuleOptions = resolveOptions({}),
    private readonly catalog = new StreamCatalog(registry),
    private readonly consumers = new ConsumerSet(registry, catalog, options),
  ) {
    this.publisher = new Publisher(registry);
    this.letters = new DeadLetters(registry);
    this.ranges = new RangeReplays(registry);
  }

  /**
   * Publishes a message. The result `published` means that Redis has added the message.
   *
   * @param options `key`, `operationId` and `operationRetentionMs` of the message
   * @throws InvalidInputError and InvalidOptionError, before anything is sent; the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * // Messages with the same key are handled one after the other.
   * await streams.publish('orders', { orderId }, { key: orderId, operationId: requestId });
   * ```
   */
  async publish<T = unknown>(
    stream: string | StreamDefinition<T>,
    payload: NoInfer<T>,
    options?: PublishOptions,
  ): Promise<PublishResult> {
    if (options !== undefined) publishing.options('', options, KNOWN_OF_PUBLISH);
    return this.send(this.catalog.get(stream), { ...options, payload });
  }

  /**
   * Publishes messages, one call to Redis for each, with at most 1,024 calls at a time. Stops after the first failure.
   *
   * @param messages an array, or any other iterable or async iterable, such as a generator or a database cursor
   * @returns the results, in the order of the messages
   * @throws PublishManyError after a failure: `cause` is the first failure, and the error lists the messages that were certainly not
   *   published, and those that may have been published; InvalidOptionError or InvalidInputError for an invalid stream; InvalidInputError
   *   if `messages` is not an iterable object
   */
  async publishMany<T = unknown>(
    stream: string | StreamDefinition<T>,
    messages: PublishSource<NoInfer<T>>,
  ): Promise<PublishResult[]>;
  /**
   * Publishes messages without keeping the results, so that memory use does not grow with the number of messages.
   *
   * @param onResult called with each result and the index of its message, in the order in which Redis replies. If `onResult` throws, the
   *   call ends as if that message had failed
   * @returns the number of messages that were published or refused as `full`
   * @throws as the call without `onResult`; InvalidInputError if `onResult` is not a function
   */
  async publishMany<T = unknown>(
    stream: string | StreamDefinition<T>,
    messages: PublishSource<NoInfer<T>>,
    onResult: (result: PublishResult, index: number) => void,
  ): Promise<number>;
  async publishMany(
    stream: string | AnyStream,
    messages: PublishSource,
    onResult?: (result: PublishResult, index: number) => void,
  ): Promise<PublishResult[] | number> {
    const source = this.catalog.get(stream);
    return publishAll(messages, (message) => this.send(source, message), onResult);
  }

  /**
   * Frees the memory that this process uses for a stream; Redis keeps the stream. A process remembers each stream that it has used. So an
   * app needs this only if it uses more and more streams, such as one for each campaign.
   *
   * @throws InvalidOptionError for an invalid stream, and while a consumer of this process reads the stream
   */
  forgetStream(stream: string | AnyStream): void {
    const name = checkStreamName(forgetting, 'stream', nameOf(stream) ?? stream);
    const group = this.consumers.groupOf(name);
    if (group !== undefined) {
      throw forgetting.error(
        `The stream was not forgotten, because consumers of this process read stream ${name}, for example in group ${group}. Await ` +
          'stop() of each of them first. Consumers of handlers with @StreamConsumer() stop only with the app.',
      );
    }
    this.catalog.forget(name);
  }

  /** Returns true if this service runs its scripts on the given ScriptRegistry, and so uses the same Redis and the same key prefix. */
  runsOn(registry: ScriptRegistry): boolean {
    return this.registry === registry;
  }

  /**
   * Checks the options of a consumer without starting it.
   *
   * @param owner text at the start of error messages, which names the owner of the options. Default: `StreamConsumerService.handle`
   * @returns the options with every default filled in
   * @throws InvalidOptionError for an invalid option
   */
  checkOptions(options: AnyConsumerOptions, owner?: string): ResolvedConsumerOptions {
    return resolveConsumer(options, this.options, owner);
  }

  /**
   * Starts a consumer that calls the function `handler`. Use it instead of `@StreamConsumer`.
   *
   * @throws InvalidOptionError for an invalid option, and for an option that differs from the same option of another consumer of the
   *   group in this process; only `concurrency` may differ
   * @throws SetupError if `handler` is not a function; InvalidInputError for invalid `keys`; ClosedError while the app shuts down; the
   *   errors of ScriptRegistry.run()
   */
  async handle<T = unknown>(
    options: StreamConsumerOptions<T>,
    handler: StreamHandler<T>,
  ): Promise<StreamConsumerHandle>;
  /** Starts a consumer that calls a function with batches of messages. Throws the same errors as the call without `batch`. */
  async handle<T = unknown>(
    options: StreamBatchOptions<T>,
    handler: StreamBatchHandler<T>,
  ): Promise<StreamConsumerHandle>;
  async handle(
    options: AnyConsumerOptions,
    handler: StreamHandler<never> | StreamBatchHandler<never>,
  ): Promise<StreamConsumerHandle> {
    return this.consumers.start(options, handler as Invoke | InvokeBatch);
  }

  /**
   * Returns the statistics of a group, over all processes.
   *
   * @throws InvalidInputError or InvalidOptionError for an invalid stream or group; the errors of ScriptRegistry.run()
   */
  async stats(stream: string | AnyStream, group: string): Promise<StreamStats> {
    return statsOf(this.registry, this.catalog.get(stream), group);
  }

  /**
   * Pauses a group in all processes: its consumers take no new messages, no retries, and no messages of consumers that died. Messages that
   * a process has taken already are still handled. Messages can still be published. The pause lasts until you call `resume` or
   * `removeGroup`. You can pause a group before it exists.
   *
   * @throws InvalidInputError or InvalidOptionError for an invalid stream or group; the errors of ScriptRegistry.run()
   */
  async pause(stream: string | AnyStream, group: string): Promise<void> {
    await this.catalog.get(stream).pause(pausing.text('group', group, NAME, NAME_TEXT), 'pause');
  }

  /** Ends the pause of a group. Has the parameters and errors of `pause`. */
  async resume(stream: string | AnyStream, group: string): Promise<void> {
    await this.catalog.get(stream).pause(pausing.text('group', group, NAME, NAME_TEXT), 'resume');
  }

  /**
   * Returns a page of the dead letters of a group, partition by partition, the oldest first. A dead letter that exists while you read
   * all pages is listed exactly once, even if other dead letters are added or removed meanwhile.
   *
   * @param page `limit`, 1 to 500, default 100; `cursor`, the `nextCursor` of the page before
   * @throws InvalidInputError for an invalid page; InvalidInputError or InvalidOptionError for an invalid stream or group; the errors
   *   of ScriptRegistry.run()
   */
  async deadLetters(
    stream: string | AnyStream,
    group: string,
    page: DeadLetterPageOptions = {},
  ): Promise<Page<DeadLetter>> {
    return this.letters.page(this.catalog.get(stream), group, page);
  }

  /**
   * Publishes dead letters again. Only their group handles them. Each becomes a new message with a new id, and starts at attempt 1.
   *
   * @param ids ids of dead letters, from `deadLetters`
   * @returns the number of dead letters that were published again; too low if ioredis sent a call twice, because only the second
   *   reply arrives
   * @throws InvalidInputError or InvalidOptionError, before anything is sent; the errors of ScriptRegistry.run()
   */
  async replay(stream: string | AnyStream, group: string, ids: readonly string[]): Promise<number> {
    return this.letters.replay(this.catalog.get(stream), group, ids);
  }

  /**
   * Deletes dead letters. Has the parameters and errors of `replay`.
   *
   * @returns the number of dead letters that were deleted; too low if ioredis sent a call twice, because only the second reply arrives
   */
  async drop(stream: string | AnyStream, group: string, ids: readonly string[]): Promise<number> {
    return this.letters.drop(this.catalog.get(stream), group, ids);
  }

  /**
   * Publishes all dead letters of a group again, as `replay` does, in steps of 100. Dead letters that are added while the call works on
   * their partition are not replayed. So the call ends even if replayed messages fail again. If it fails halfway, call it again.
   *
   * @param filter selects dead letters by the time at which they died. Default: all
   * @returns the number of dead letters that were replayed; too low if ioredis sent a call twice, because only the second reply arrives
   * @throws InvalidInputError for an invalid filter; the other errors of `deadLetters`
   */
  async replayAll(stream: string | AnyStream, group: string, filter: DeadLetterFilter = {}): Promise<number> {
    return this.letters.replayAll(this.catalog.get(stream), group, filter);
  }

  /**
   * Deletes all dead letters of a group, in steps of 100. Dead letters that are added while the call works on their partition are not
   * deleted. If it fails halfway, call it again.
   *
   * @param filter selects dead letters by the time at which they died. Default: all
   * @returns the number of dead letters that were deleted; too low if ioredis sent a call twice, because only the second reply arrives
   * @throws InvalidInputError for an invalid filter; the other errors of `deadLetters`
   */
  async dropAll(stream: string | AnyStream, group: string, filter: DeadLetterFilter = {}): Promise<number> {
    return this.letters.dropAll(this.catalog.get(stream), group, filter);
  }

  /**
   * Delivers messages again that a group has already handled or dead-lettered, if the stream still has them. Only this group gets them
   * again. Each becomes a new message with a new id, and starts at attempt 1. Messages that the group has not finished are left out,
   * because the group gets them anyway. Copies from earlier replays are left out as well.
   *
   * @param range `fromAtMs` and `beforeAtMs`, which select messages by the time of their publish; `limit`; `operationId`, which makes it
   *   safe to repeat the call
   * @returns the number of messages that were published again; with `operationId`, the number for all calls with this id
   * @throws InvalidInputError for an invalid range or group, before anything is sent, and if the stream has no such group;
   *   InvalidOptionError for an invalid stream; the errors of ScriptRegistry.run()
   */
  async replayRange(stream: string | AnyStream, group: string, range: ReplayRange): Promise<number> {
    const name = pausing.text('group', group, NAME, NAME_TEXT);
    return this.ranges.replay(this.catalog.get(stream), name, range);
  }

  /**
   * Removes a group that is no longer used, and its dead letters. Then deletes the messages that all other groups have handled or
   * dead-lettered.
   *
   * All messages stay if there is no other group. On a stream with `keys` they also stay if the option `deleteAfter` (the groups that must
   * have handled a message before it is deleted) is missing, or names this group.
   *
   * Stop the consumers of the group first: a running consumer creates the group again, and pauses it if it was paused.
   *
   * @returns true if the stream had the group
   * @throws InvalidInputError or InvalidOptionError for an invalid stream or group; the errors of ScriptRegistry.run()
   */
  async removeGroup(stream: string | AnyStream, group: string): Promise<boolean> {
    return forgetGroup(this.registry, this.catalog.get(stream), group);
  }

  /** Starts the consumers of decorated handlers. */
  async onApplicationBootstrap(): Promise<void> {
    await this.consumers.startDeclared();
  }

  /** Stops all consumers, as `StreamConsumerHandle.stop` does. Handlers may still publish messages meanwhile. */
  onModuleDestroy(): void {
    this.closing ??= draining(this.consumers.close());
  }

  /** Waits until all consumers have stopped. */
  beforeApplicationShutdown(): Promise<void> | undefined {
    this.onModuleDestroy();
    return this.closing;
  }

  /** Returns the groups that this process reads, and reports each publish, for `luanest/testing`. */
  [INSPECT](): StreamInspection {
    return { groups: this.consumers.groups(), watch: (watcher) => (this.watcher = watcher) };
  }

  /** Returns functions to read and change the streams, for `luanest/console`. */
  [CONSOLE](): StreamConsole {
    return new StreamConsole(this.registry, this.catalog, this.letters, () => this.consumers.groups());
  }

  /** Returns functions for `luanest/outbox`, which checks a message, stores it in SQL and publishes it later. */
  [OUTBOX](): StreamOutbox {
    return {
      prepare: (stream, payload, options) => {
        const { name, options: all } = this.catalog.get(stream);
        publishing.options('', options, KNOWN_OF_PUBLISH);
        const json = checkMessage(this.catalog.get(stream), { ...options, payload });
        const { partitions, maxLength, maxPayloadBytes } = all;
        const kept = { partitions, maxPayloadBytes, ...(maxLength > 0 && { maxLength }) };
        return { stream: name, payload: json, options: kept };
      },
      publish: async (stream, options, message) => this.send(this.catalog.as(stream, options), message),
    };
  }

  /** Returns the registry that runs the scripts, and a function after which a publish needs one call to Redis, for `luanest/transport`. */
  [TRANSPORT](): { readonly registry: ScriptRegistry; readonly announce: (stream: AnyStream) => Promise<void> } {
    const announce = async (definition: AnyStream): Promise<void> => {
      const stream = this.catalog.get(definition);
      if (!stream.announced) await stream.announce();
    };
    return { registry: this.registry, announce };
  }

  private send(stream: Stream, message: PublishMessage): Promise<PublishResult> {
    const result = this.publisher.publish(stream, message);
    this.watcher?.(stream.name, message, result);
    return result;
  }
}
