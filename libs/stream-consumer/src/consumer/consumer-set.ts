import { Logger } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { Checks, shown, thrownText, time, type Timer, ClosedError, SetupError } from '../../../internal/src';
import {
  resolveConsumer,
  type ResolvedConsumerOptions,
  type ResolvedStreamConsumerModuleOptions,
  type AnyConsumerOptions,
} from '../stream-consumer.options';
import type { StreamCatalog } from '../streams/stream-catalog';
import { Consumer } from './consumer';
import type { InvokeBatch } from './batches';
import type { Invoke } from './handler-runner';

/** Pause before the consumers of decorated handlers are started again after a failure, ms. */
const RESTART_MS = 500;

const OWNER = 'StreamConsumerService.handle';

type OptionValue = ResolvedConsumerOptions[keyof ResolvedConsumerOptions];

function textOf(value: OptionValue): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** All consumers of this process. */
export class ConsumerSet {
  private readonly logger = new Logger('StreamConsumer');
  private readonly consumers = new Set<Consumer>();
  /** Consumers of decorated handlers that have not been started yet. */
  private declared: Consumer[] = [];
  private restart: Timer | undefined;
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly catalog: StreamCatalog,
    private readonly module: ResolvedStreamConsumerModuleOptions,
  ) {}

  /** Creates and starts a consumer. @throws the errors of `StreamConsumerService.handle` */
  async start(options: AnyConsumerOptions, invoke: Invoke | InvokeBatch): Promise<Consumer> {
    if (typeof invoke !== 'function') {
      throw new SetupError(`${OWNER}: The handler is ${shown(invoke)}. Expected a function.`);
    }
    const consumer = this.make(options, OWNER, invoke);
    try {
      await consumer.openPartitions();
    } catch (error) {
      this.consumers.delete(consumer);
      throw error;
    }
    if (this.closed) throw closedError();
    consumer.start();
    return consumer;
  }

  declare(options: AnyConsumerOptions, owner: string, invoke: Invoke | InvokeBatch): void {
    this.declared.push(this.make(options, owner, invoke));
  }

  /**
   * Starts the consumers of decorated handlers. Creates their groups in Redis first, and lets them read only then. A message is deleted
   * when all known groups have handled it, so a new group could otherwise miss messages. Tries again after a failure, until the app closes.
   */
  async startDeclared(): Promise<void> {
    try {
      await Promise.all(this.declared.map((consumer) => consumer.openPartitions()));
    } catch (error) {
      if (this.closed) return;
      if (!this.restart) {
        this.logger.warn(
          'The handlers with @StreamConsumer() get no messages yet, because a call to Redis failed when their consumers were started. ' +
            `The start is repeated ${RESTART_MS} ms after each failure. ${thrownText(error)}`,
        );
      }
      this.restart = time.setTimeLimit(() => void this.startDeclared(), RESTART_MS);
      return;
    }
    for (const consumer of this.declared.splice(0)) if (!this.closed) consumer.start();
  }

  /** Stops all consumers. After that, no consumer can be created. */
  async close(): Promise<void> {
    this.closed = true;
    time.clearTimer(this.restart);
    await Promise.all([...this.consumers].map((consumer) => consumer.stop()));
  }

  /** Returns the name of a group for which this process reads the stream; undefined if there is none. */
  groupOf(stream: string): string | undefined {
    return this.active().find((consumer) => consumer.stream === stream)?.group;
  }

  groups(): { readonly stream: string; readonly group: string }[] {
    return this.active().map(({ stream, group }) => ({ stream, group }));
  }

  private make(given: AnyConsumerOptions, owner: string, invoke: Invoke | InvokeBatch): Consumer {
    if (this.closed) throw closedError();
    const options = resolveConsumer(given, this.module, owner);
    const where = new Checks(owner);
    const source = this.catalog.get(given.stream);
    if (options.from !== 'start' && !source.isForeign && !source.options.retain) {
      throw where.error(
        `The option \`from\` is ${shown(options.from)}, but only consumers of a stream with the option \`keys\` or \`retain\` may set it. ` +
          `On stream ${options.stream}, a new group begins with the oldest message. Leave \`from\` out.`,
      );
    }
    if (given.pollMs !== undefined && !source.isForeign) {
      throw where.error(
        `The option \`pollMs\` is ${shown(given.pollMs)}, but only consumers of a stream with the option \`keys\` may set it. ` +
          `A publish wakes the consumers of stream ${options.stream}. Leave \`pollMs\` out.`,
      );
    }
    this.checkConsistent(where, options);
    const consumer = new Consumer(this.registry, source, options, this.module, invoke);
    this.consumers.add(consumer);
    return consumer;
  }

  private checkConsistent(where: Checks, options: ResolvedConsumerOptions): void {
    const names = Object.keys(options) as Extract<keyof ResolvedConsumerOptions, string>[];
    for (const other of this.active()) {
      if (other.stream !== options.stream || other.group !== options.group) continue;
      const differs = names.find(
        (name) => name !== 'concurrency' && textOf(other.options[name]) !== textOf(options[name]),
      );
      if (differs === undefined) continue;
      throw where.error(
        `${differs} is ${textOf(options[differs])}, but another consumer of stream ${options.stream}, group ${options.group} in this ` +
          `process has ${textOf(other.options[differs])}. Give all consumers of a group the same options, except concurrency.`,
      );
    }
  }

  private active(): readonly Consumer[] {
    for (const consumer of this.consumers) if (consumer.ended) this.consumers.delete(consumer);
    return [...this.consumers];
  }
}

function closedError(): ClosedError {
  return new ClosedError('StreamConsumerService: No consumer was started, because this app is shutting down.');
}
