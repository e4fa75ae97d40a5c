import type { ExternalContextCreator } from '@nestjs/core';
import { enhanceHandler } from '../../../worker/src';
import { PARAMETER_TYPES, PARAMETERS } from '../stream-consumer.decorator';
import type { StreamMessage } from '../stream-consumer.types';

/** Returns the value of a parameter: the message, its payload, or a property of the payload. */
function valueOf(type: number, property: unknown, [message]: readonly unknown[]): unknown {
  if (type !== PARAMETER_TYPES.payload) return message;
  const { payload } = message as StreamMessage<Record<string, unknown> | null>;
  return typeof property === 'string' ? payload?.[property] : payload;
}

/**
 * Makes a handler of a method, with the guards, pipes, interceptors and filters of the method, its class and the app. They
 * run in a context of type `stream`. What the interceptors return is ignored, unless it is an outcome.
 */
export function enhance(
  contexts: ExternalContextCreator,
  instance: object,
  name: string,
): (message: StreamMessage) => unknown {
  return enhanceHandler(contexts, {
    ...{ instance, name, method: (instance as Record<string, unknown>)[name] as object, contextType: 'stream' },
    parameters: { metadataKey: PARAMETERS, valueOf },
    arguments: (values) => values,
    value: ({ returned }) => returned?.value,
  });
}
