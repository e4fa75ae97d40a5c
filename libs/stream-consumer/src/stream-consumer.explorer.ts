import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner } from '@nestjs/core';
import {
  forgottenHandlers,
  forgottenText,
  methodOf,
  NOT_A_SINGLETON,
  prototypeOf,
  singletonOf,
  type Wrapper,
  SetupError,
} from '../../internal/src';
import { enhanceHandler } from '../../worker/src';
import type { InvokeBatch } from './consumer/batches';
import { ConsumerSet } from './consumer/consumer-set';
import type { Invoke } from './consumer/handler-runner';
import { PARAMETER_TYPES, PARAMETERS, streamConsumerNames, streamConsumerOf } from './stream-consumer.decorator';
import {
  resolveConsumer,
  type AnyConsumerOptions,
  type ResolvedStreamConsumerModuleOptions,
} from './stream-consumer.options';
import type { StreamMessage } from './stream-consumer.types';

/**
 * Returns the value for a parameter of a handler: the message, its payload, or a property of the payload. For a batch, an array of these.
 */
function valueOf(type: number, property: unknown, [message]: readonly unknown[]): unknown {
  if (Array.isArray(message)) return message.map((one) => valueOf(type, property, [one]));
  if (type !== PARAMETER_TYPES.payload) return message;
  const { payload } = message as StreamMessage<Record<string, unknown> | null>;
  return typeof property === 'string' ? payload?.[property] : payload;
}

/**
 * Returns a function that calls a decorated method with its guards, pipes, interceptors and exception filters, in a context of type
 * `stream`. What interceptors return is ignored, unless it is `retryLater()` or `deadLetter()`.
 */
function enhance(contexts: ExternalContextCreator, instance: object, name: string): Invoke | InvokeBatch {
  return enhanceHandler(contexts, {
    ...{ instance, name, method: (instance as Record<string, unknown>)[name] as object, contextType: 'stream' },
    parameters: { metadataKey: PARAMETERS, valueOf },
    arguments: (values) => values,
    value: ({ returned }) => returned?.value,
  });
}

/**
 * Starts the methods with `@StreamConsumer` as handlers when the app boots. Throws an error for a handler that would never run, and for a
 * group with two handlers.
 */
@Injectable()
export class StreamConsumerExplorer implements OnModuleInit {
  /** Handler of each group, as `Class.method`, by `<stream>/<group>`. */
  private readonly groups = new Map<string, string>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly contexts: ExternalContextCreator,
    private readonly consumers: ConsumerSet,
    private readonly options: ResolvedStreamConsumerModuleOptions,
  ) {}

  /** @throws SetupError with class and method; InvalidOptionError; InvalidInputError */
  onModuleInit(): void {
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      // An alias (`useExisting`) is skipped, because the loop also meets the provider itself.
      if (wrapper.isAlias) continue;
      const prototype = prototypeOf(wrapper);
      if (prototype) this.explore(wrapper, prototype);
    }
    const forgotten = this.groups.size > 0 ? [] : forgottenHandlers(this.discovery, '@StreamConsumer');
    if (forgotten.length > 0) new Logger('StreamConsumer').warn(forgottenText('@StreamConsumer', forgotten));
  }

  private explore(wrapper: Wrapper, prototype: object): void {
    const decorated = streamConsumerNames(prototype);
    for (const name of new Set([...this.scanner.getAllMethodNames(prototype), ...decorated])) {
      const method = methodOf(prototype, name);
      const options = method && streamConsumerOf(method);
      const where = `${prototype.constructor.name}.${name}`;
      if (options) this.add(wrapper, where, name, options);
      else if (decorated.includes(name)) {
        throw new SetupError(
          `${where}: another decorator or an override replaced the handler, so no message would reach it. ` +
            `Put @StreamConsumer() above the other decorator, or on the override.`,
        );
      }
    }
  }

  private add(wrapper: Wrapper, where: string, name: string, given: AnyConsumerOptions): void {
    const instance = singletonOf(wrapper);
    if (!instance) throw new SetupError(`${where}: ${NOT_A_SINGLETON}.`);
    const { stream, group } = resolveConsumer(given, this.options, `@StreamConsumer on ${where}`);
    const id = `${stream}/${group}`;
    const other = this.groups.get(id);
    if (other !== undefined) {
      throw new SetupError(
        other === where
          ? `${where}: its class is provided twice, or another class has the same name, so two handlers would share the ` +
              `messages of stream ${stream}, group ${group}. Provide the class once, or give one of the two another group.`
          : `${where}: ${other} is already the handler of stream ${stream}, group ${group}, so each of the two would get only some ` +
              `of the messages. Give one of the two another group.`,
      );
    }
    this.groups.set(id, where);
    this.consumers.declare(given, `@StreamConsumer on ${where}`, enhance(this.contexts, instance, name));
  }
}
