import { Inject, type PipeTransform, type Type } from '@nestjs/common';
import { methodDecorator, noteHandler, SetupError } from '../../internal/src';
import type { AnyConsumerOptions, StreamBatchOptions, StreamConsumerOptions } from './stream-consumer.options';
import { StreamConsumerService } from './stream-consumer.service';
import type { BatchResult, HandlerResult, StreamMessage } from './stream-consumer.types';

const CONSUMER = 'luanest:stream-consumer';
const CONSUMER_METHODS = 'luanest:stream-consumer-methods';
/** Metadata key under which Nest stores the decorated parameters of a method. */
export const PARAMETERS = '__routeArguments__';

/** Nest's numbers for kinds of parameters. Pipes see the payload as `body` (3), and the message as `custom` (100). */
export const PARAMETER_TYPES = Object.freeze({ message: 100, payload: 3 });

interface Parameter {
  readonly index: number;
  readonly data: string | undefined;
  readonly pipes: readonly (Type<PipeTransform> | PipeTransform)[];
}

function addParameter(target: object, key: string | symbol, type: number, parameter: Parameter): void {
  const known = (Reflect.getMetadata(PARAMETERS, target.constructor, key) ?? {}) as Record<string, Parameter>;
  const all = { ...known, [`${type}:${parameter.index}`]: parameter };
  Reflect.defineMetadata(PARAMETERS, all, target.constructor, key);
}

/** Type of a method that handles messages. It may have any parameters. It returns a `HandlerResult`. */
export type StreamHandlerMethod = (...args: never[]) => HandlerResult | Promise<HandlerResult>;

/**
 * Type that is `never` if the handler's first parameter does not fit the messages of the stream, so that the decorator does not compile.
 * Otherwise `unknown`, also if the type of the messages is unknown.
 */
type Accepts<M extends StreamHandlerMethod, Message> = Parameters<M>[0] extends readonly StreamMessage[]
  ? never
  : unknown extends Message
    ? unknown
    : Parameters<M>[0] extends StreamMessage<infer Payload>
      ? [Message] extends [Payload]
        ? unknown
        : never
      : unknown;

/** Type of a method that handles batches. It may have any parameters. It returns a `BatchResult`. */
export type StreamBatchMethod = (...args: never[]) => BatchResult | Promise<BatchResult>;

/** The same as `Accepts`, for a handler of batches. Also `never` if the first parameter is a single message. */
type AcceptsBatch<M extends StreamBatchMethod, Message> = Parameters<M>[0] extends StreamMessage
  ? never
  : unknown extends Message
    ? unknown
    : Parameters<M>[0] extends readonly StreamMessage<infer Payload>[]
      ? [Message] extends [Payload]
        ? unknown
        : never
      : unknown;

/**
 * Decorator of methods that handle batches. A decorated method does not compile if its return type is not a `BatchResult`, or if its
 * first parameter is one message.
 */
export type StreamBatchDecorator<Message = unknown> = <M extends StreamBatchMethod>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & AcceptsBatch<M, Message>,
) => void;

/**
 * Decorator of methods that handle messages. A decorated method does not compile if its return type is not a `HandlerResult`, or if its
 * first parameter is a `StreamMessage` that does not accept the messages of the stream.
 */
export type StreamConsumerDecorator<Message = unknown> = <M extends StreamHandlerMethod>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & Accepts<M, Message>,
) => void;

/**
 * Makes a method of a provider or controller the handler of a group. Nest creates the class only if it can inject
 * StreamConsumerService. If your own code calls the method, no guard, pipe, interceptor or filter runs.
 *
 * The first parameter gets the `StreamMessage`, unless it has a decorator such as `@StreamPayload()`. The method returns a `HandlerResult`:
 * another return type does not compile. If it still returns another value, the message counts as handled, and a warning is logged once.
 * In `applyDecorators()`, which takes a `MethodDecorator`, write `StreamConsumer(...) as MethodDecorator`.
 *
 * @param options `stream` and `group` are required
 * @throws SetupError if the method has the decorator already; InvalidOptionError if the target is not an instance method, or the
 *   options are not an object
 *
 * @example
 * `@StreamConsumer({ stream: 'orders', group: 'mails' }) async mail({ payload }: StreamMessage<Order>) { await sendMail(payload.id); }`
 */
export function StreamConsumer<Message = unknown>(
  options: StreamConsumerOptions<Message>,
): StreamConsumerDecorator<NoInfer<Message>>;
/**
 * Makes a method the handler of batches of a group. The first parameter gets an array of `StreamMessage`. A parameter with
 * `@StreamPayload()` gets an array of the payloads, or of one property of each payload. The method returns a `BatchResult`.
 */
export function StreamConsumer<Message = unknown>(
  options: StreamBatchOptions<Message>,
): StreamBatchDecorator<NoInfer<Message>>;
export function StreamConsumer(options: AnyConsumerOptions): MethodDecorator {
  return methodDecorator('@StreamConsumer', ({ where, checks, target, key, method }) => {
    checks.object('', options);
    if (Reflect.hasOwnMetadata(CONSUMER, method)) {
      throw new SetupError(`${where}: the method has @StreamConsumer() twice. Give each group a method of its own.`);
    }
    noteHandler('@StreamConsumer', target, where);
    // Without the module, Nest cannot resolve this dependency. Its error then quotes the symbol, which says what to import.
    Inject(StreamConsumerService)(target, Symbol(`@StreamConsumer on ${where} needs StreamConsumerModule.forRoot()`));
    const known = (Reflect.getMetadata(PARAMETERS, target.constructor, key) ?? {}) as Record<string, Parameter>;
    if (!Object.values(known).some(({ index }) => index === 0)) {
      addParameter(target, key, PARAMETER_TYPES.message, { index: 0, data: undefined, pipes: [] });
    }
    Reflect.defineMetadata(CONSUMER, options, method);
    Reflect.defineMetadata(CONSUMER_METHODS, [...streamConsumerNames(target), String(key)], target);
  });
}

/**
 * Makes a parameter of the handler receive the payload, or one property of the payload. The pipes that are given here run on the value, and
 * also those of the method, its class and the app.
 *
 * @param property name of the property, or the first pipe. Default: the whole payload
 */
export function StreamPayload(
  property?: string | Type<PipeTransform> | PipeTransform,
  ...pipes: readonly (Type<PipeTransform> | PipeTransform)[]
): ParameterDecorator {
  const data = typeof property === 'string' ? property : undefined;
  const all = property === undefined || typeof property === 'string' ? pipes : [property, ...pipes];
  return (target, key, index) =>
    addParameter(target, key as string, PARAMETER_TYPES.payload, { index, data, pipes: all });
}

/** Makes a parameter of the handler receive the `StreamMessage`. Needed only if the first parameter has another decorator. */
export function StreamMessageParam(): ParameterDecorator {
  return (target, key, index) =>
    addParameter(target, key as string, PARAMETER_TYPES.message, { index, data: undefined, pipes: [] });
}

/** Returns the options that `@StreamConsumer` stored on a function; undefined if the function has no such decorator. */
export function streamConsumerOf(method: object): AnyConsumerOptions | undefined {
  return Reflect.getMetadata(CONSUMER, method) as AnyConsumerOptions | undefined;
}

/** Returns the names of the decorated methods of a prototype: its own and inherited ones, and those that were overridden or wrapped. */
export function streamConsumerNames(prototype: object): readonly string[] {
  return (Reflect.getMetadata(CONSUMER_METHODS, prototype) ?? []) as string[];
}
