import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { type ScriptRegistry } from 'luanest/script-registry';
import { Checks, type KnownOptions, shown } from '../../internal/src';
import type { Invoke } from './consumer/handler-runner';
import { Consumer } from './consumer/consumer';
import { StreamConsumerClosedError } from './stream-consumer.errors';
import {
  resolveConsumer,
  resolveOptions,
  type ResolvedConsumerOptions,
  type ResolvedStreamConsumerModuleOptions,
  type StreamConsumerOptions,
  type StreamOptions,
} from './stream-consumer.options';
import type {
  DeadLetterPage,
  PublishMessage,
  PublishResult,
  PublishSource,
  StreamConsumerHandle,
  StreamHandler,
  StreamStats,
} from './stream-consumer.types';
import { DeadLetters } from './streams/dead-letters';
import { forgetGroup } from './streams/groups';
import { publishAll } from './streams/publish-many';
import { Publisher } from './streams/publisher';
import { statsOf } from './streams/stats';
import { StreamCatalog } from './streams/stream-catalog';

/** How long a start that failed waits before it is tried again, ms. */
const RESTART_MS = 500;

const KNOWN_OF_MESSAGE: KnownOptions<Omit<PublishMessage, 'payload'>> = { key: true, operationId: true };
const publishing = new Checks('StreamConsumerService.publish');
const consuming = new Checks('StreamConsumerService.consume');

/** Publishes messages, runs consumers, and tells how they stand. */
export class StreamConsumerService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('StreamConsumer');
  private readonly catalog: StreamCatalog;
  private readonly publisher: Publisher;
  private readonly letters: DeadLetters;
  private readonly consumers = new Set<Consumer>();
  /** Those that were found at boot and do not run yet. */
  private declared: Consumer[] = [];
  private restart: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: ResolvedStreamConsumerModuleOptions = resolveOptions({}),
  ) {
    this.catalog = new StreamCatalog(registry, options);
    this.publisher = new Publisher(registry);
    this.letters = new DeadLetters(registry);
  }

  /**
   * Publishes a message. Redis has it when this resolves with `published`.
   *
   * @param options `key` and `operationId` of the message
   * @throws InvalidStreamInputError, InvalidOptionError before anything is sent; errors of the registry
   */
  async publish(stream: string, payload: unknown, options?: Omit<PublishMessage, 'payload'>): Promise<PublishResult> {
    if (options !== undefined) publishing.options('', options, KNOWN_OF_MESSAGE);
    return this.publisher.publish(this.catalog.get(stream), { ...options, payload });
  }

  /**
   * Publishes messages, each for itself, at most 1,024 at a time. No further message is begun after the first failure.
   *
   * @param messages an array, or what makes them as they are needed: a generator, a cursor of a database
   * @returns the results, in the order of the messages
   * @throws PublishManyError with the first failure as its cause, and what became of each message; InvalidOptionError;
   *   InvalidStreamInputError for messages that cannot be iterated
   */
  async publishMany(stream: string, messages: PublishSource): Promise<PublishResult[]>;
  /**
   * Publishes messages as above, and keeps no results, so that memory does not grow with the number of messages.
   *
   * @param onResult called with each result and the index of its message, in the order in which Redis replies. What it
   *   throws ends the call, with that as the cause
   * @returns how many messages there were
   */
  async publishMany(
    stream: string,
    messages: PublishSource,
    onResult: (result: PublishResult, index: number) => void,
  ): Promise<number>;
  async publishMany(
    stream: string,
    messages: PublishSource,
    onResult?: (result: PublishResult, index: number) => void,
  ): Promise<PublishResult[] | number> {
    const source = this.catalog.get(stream);
    return publishAll(messages, (message) => this.publisher.publish(source, message), onResult);
  }

  /**
   * Makes a stream known that the module's `streams` do not name, such as one of keys that come up while the app runs. Repeat
   * it in every process that uses the stream; harmless twice.
   *
   * @throws InvalidOptionError for options that cannot work, or differ from those in use; InvalidKeyError for keys
   */
  defineStream(stream: string, options: StreamOptions): void {
    this.catalog.define(stream, options);
  }

  /**
   * Forgets what `defineStream` was told, in this process; Redis keeps what it has.
   *
   * @throws InvalidOptionError while a consumer of this process reads the stream
   */
  forgetStream(stream: string): void {
    for (const consumer of this.consumers) {
      if (consumer.ended) this.consumers.delete(consumer);
      else if (consumer.stream === stream) {
        throw new Checks('StreamConsumerService').error(
          `Stream ${stream} is read by ${consumer.group}. Stop its consumers first.`,
        );
      }
    }
    this.catalog.forget(stream);
  }

  /** Whether this service's streams are those of a registry: of its Redis, under its prefix. */
  runsOn(registry: ScriptRegistry): boolean {
    return this.registry === registry;
  }

  /** Checks options without using them. @throws InvalidOptionError as `consume` would */
  checkOptions(options: StreamConsumerOptions): void {
    resolveConsumer(options, this.options);
  }

  /**
   * Runs a handler over a stream without decorators.
   *
   * @throws InvalidOptionError for options that cannot work, or contradict another consumer of the group in this process
   * @throws StreamConsumerClosedError while the app shuts down; errors of the registry
   */
  async consume<T = unknown>(options: StreamConsumerOptions, handler: StreamHandler<T>): Promise<StreamConsumerHandle> {
    const consumer = this.make(resolveConsumer(options, this.options), handler as Invoke);
    try {
      await consumer.open();
    } catch (error) {
      this.consumers.delete(consumer);
      throw error;
    }
    if (this.closed) throw this.refusal();
    consumer.start();
    return consumer;
  }

  /** How a group stands, all its processes together. @throws errors of the registry */
  async stats(stream: string, group: string): Promise<StreamStats> {
    return statsOf(this.registry, this.catalog.get(stream), group);
  }

  /**
   * Dead letters of a group, the oldest of each partition first.
   *
   * @param page `count`, 1 to 500, default 100; `after`, the `next` of the page before
   */
  async deadLetters(
    stream: string,
    group: string,
    page: { readonly count?: number; readonly after?: string } = {},
  ): Promise<DeadLetterPage> {
    return this.letters.page(this.catalog.get(stream), group, page.count ?? 100, page.after);
  }

  /**
   * Publishes dead letters again, for their group alone: with a new id, and all attempts before them.
   *
   * @returns how many were there
   */
  async replay(stream: string, group: string, ids: readonly string[] | 'all'): Promise<number> {
    return this.letters.replay(this.catalog.get(stream), group, ids);
  }

  /** Deletes dead letters. @returns how many were there */
  async drop(stream: string, group: string, ids: readonly string[] | 'all'): Promise<number> {
    return this.letters.drop(this.catalog.get(stream), group, ids);
  }

  /**
   * Forgets a group that is not used any more, with its dead letters, and deletes messages that only it still needed.
   * Stop its consumers first: one that runs makes the group anew.
   *
   * @returns whether there was such a group
   */
  async removeGroup(stream: string, group: string): Promise<boolean> {
    return forgetGroup(this.registry, this.catalog.get(stream), group);
  }

  /** Called by the explorer: the consumer starts when the app has booted. */
  declare(options: ResolvedConsumerOptions, invoke: Invoke): void {
    this.declared.push(this.make(options, invoke));
  }

  /** All groups are made before anything is taken: a message is deleted when all groups that are known have it. */
  async onApplicationBootstrap(): Promise<void> {
    await this.startDeclared();
  }

  /** Stops all consumers: see `StreamConsumerHandle.stop`. Handlers may still publish. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closed = true;
    clearTimeout(this.restart);
    await Promise.all([...this.consumers].map((consumer) => consumer.stop()));
  }

  private async startDeclared(): Promise<void> {
    try {
      await Promise.all(this.declared.map((consumer) => consumer.open()));
    } catch (error) {
      // Redis being away does not keep an app from booting: its consumers start when Redis is back.
      if (!this.restart) this.logger.warn(`Consumers could not be started and will be tried again: ${String(error)}`);
      if (!this.closed) this.restart = setTimeout(() => void this.startDeclared(), RESTART_MS);
      return;
    }
    for (const consumer of this.declared.splice(0)) if (!this.closed) consumer.start();
  }

  private make(options: ResolvedConsumerOptions, invoke: Invoke): Consumer {
    if (this.closed) throw this.refusal();
    const source = this.catalog.get(options.stream);
    if (options.from !== 'start' && !source.isForeign) {
      throw consuming.error(
        `from is ${shown(options.from)}, but ${options.stream} has no keys: its groups get all that is not deleted yet. Leave it out.`,
      );
    }
    for (const other of this.consumers) {
      if (other.ended) this.consumers.delete(other);
      if (other.ended || other.stream !== options.stream || other.group !== options.group) continue;
      const names = Object.keys(options) as (keyof ResolvedConsumerOptions)[];
      const differs = names.find((name) => name !== 'concurrency' && other.options[name] !== options[name]);
      if (differs === undefined) continue;
      throw consuming.error(
        `${differs} is ${String(options[differs])}, but another consumer of ${options.stream}/${options.group} ` +
          `has ${String(other.options[differs])}. Give consumers of one group the same options.`,
      );
    }
    const consumer: Consumer = new Consumer(this.registry, source, options, this.options, invoke);
    this.consumers.add(consumer);
    return consumer;
  }

  private refusal(): StreamConsumerClosedError {
    return new StreamConsumerClosedError('The app shuts down, so no consumer was started.');
  }
}
