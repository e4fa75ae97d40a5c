import { Inject, type PipeTransform, type Type } from '@nestjs/common';
import { methodDecorator } from '../../internal/src';
import { StreamConsumerSetupError } from './stream-consumer.errors';
import type { StreamConsumerOptions } from './stream-consumer.options';
import type { HandlerResult } from './stream-consumer.types';

/** Injection token under which decorated classes ask for the service. */
export const STREAM_CONSUMER_HOST = Symbol('StreamConsumerModule.forRoot()');

const CONSUMER = 'luanest:stream-consumer';
const CONSUMER_METHODS = 'luanest:stream-consumer-methods';
/** Where Nest keeps what the parameters of a handler are. */
export const PARAMETERS = '__routeArguments__';

/** What a parameter gets: pipes are told the type, `body` for the payload and `custom` for the message. */
export const PARAMETER_TYPES = Object.freeze({ message: 100, payload: 3 });

interface Parameter {
  readonly index: number;
  readonly data: string | undefined;
  readonly pipes: readonly (Type<PipeTransform> | PipeTransform)[];
}

function addParameter(target: object, key: string | symbol, type: number, parameter: Parameter): void {
  const seen = (Reflect.getMetadata(PARAMETERS, target.constructor, key) ?? {}) as Record<string, Parameter>;
  const all = { ...seen, [`${type}:${parameter.index}`]: parameter };
  Reflect.defineMetadata(PARAMETERS, all, target.constructor, key);
}

/** A method that handles messages: of any parameters, but with an outcome or nothing as its result. */
export type StreamHandlerMethod = (...args: never[]) => HandlerResult | Promise<HandlerResult>;

/** A decorator of such methods; of any other it does not compile. */
export type StreamConsumerDecorator = <M extends StreamHandlerMethod>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

/**
 * Makes a method of a provider or a controller the handler of a group: it is called for each message of the stream.
 *
 * The method gets the `StreamMessage`, unless its parameters say otherwise. It resolves with nothing or an outcome: what it
 * returns otherwise does not compile, and where it does by a cast, the message is handled and a warning is logged once. In
 * `applyDecorators()`, which takes any `MethodDecorator`, write `StreamConsumer(...) as MethodDecorator`.
 *
 * @param options `stream` and `group`; the rest has the defaults of the module
 * @throws StreamConsumerSetupError twice on one method; InvalidOptionError on anything but an instance method, and for options
 *   that are not an object
 */
export function StreamConsumer(options: StreamConsumerOptions): StreamConsumerDecorator {
  return methodDecorator('@StreamConsumer', ({ where, checks, target, key, method }) => {
    checks.object('', options);
    if (Reflect.hasOwnMetadata(CONSUMER, method)) {
      throw new StreamConsumerSetupError(`${where}: it has @StreamConsumer twice. Give each group a method.`);
    }
    // Nest refuses to build the class where the module is missing, and prints the symbol.
    Inject(STREAM_CONSUMER_HOST)(target, Symbol(`@StreamConsumer on ${where} needs StreamConsumerModule.forRoot()`));
    const seen = (Reflect.getMetadata(PARAMETERS, target.constructor, key) ?? {}) as Record<string, Parameter>;
    if (!Object.values(seen).some(({ index }) => index === 0)) {
      addParameter(target, key, PARAMETER_TYPES.message, { index: 0, data: undefined, pipes: [] });
    }
    Reflect.defineMetadata(CONSUMER, options, method);
    Reflect.defineMetadata(CONSUMER_METHODS, [...streamConsumerNames(target), String(key)], target);
  });
}

/** A parameter that gets the payload, or one property of it, through the pipes of the handler and its own. */
export function StreamPayload(
  property?: string | Type<PipeTransform> | PipeTransform,
  ...pipes: readonly (Type<PipeTransform> | PipeTransform)[]
): ParameterDecorator {
  const data = typeof property === 'string' ? property : undefined;
  const all = property === undefined || typeof property === 'string' ? pipes : [property, ...pipes];
  return (target, key, index) =>
    addParameter(target, key as string, PARAMETER_TYPES.payload, { index, data, pipes: all });
}

/** A parameter that gets the `StreamMessage`, where another one gets the payload. */
export function StreamMessageParam(): ParameterDecorator {
  return (target, key, index) =>
    addParameter(target, key as string, PARAMETER_TYPES.message, { index, data: undefined, pipes: [] });
}

/** The options that `@StreamConsumer` left on a function; undefined where it was not used. */
export function streamConsumerOf(method: object): StreamConsumerOptions | undefined {
  return Reflect.getMetadata(CONSUMER, method) as StreamConsumerOptions | undefined;
}

/** Names of the methods of a prototype that carry `@StreamConsumer`, or did before something replaced them. */
export function streamConsumerNames(prototype: object): readonly string[] {
  return (Reflect.getMetadata(CONSUMER_METHODS, prototype) ?? []) as string[];
}
