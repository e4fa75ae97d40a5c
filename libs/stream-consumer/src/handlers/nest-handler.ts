import type { ExternalContextCreator } from '@nestjs/core';
import { InvalidOutcomeError, withEnhancers, type EnhancedResult, type Method } from '../../../internal/src';
import { PARAMETER_TYPES, PARAMETERS } from '../stream-consumer.decorator';
import type { StreamMessage } from '../stream-consumer.types';
import { isOutcome } from './outcome';

/** Returns the value of a parameter: the message, its payload, or a property of the payload. */
function valueOf(type: number, property: unknown, [message]: readonly unknown[]): unknown {
  if (type !== PARAMETER_TYPES.payload) return message;
  const { payload } = message as StreamMessage<Record<string, unknown> | null>;
  return typeof property === 'string' ? payload?.[property] : payload;
}

/**
 * Makes a handler of a method, with the guards, pipes, interceptors and filters of the method, its class and the app. They
 * run in a context of type `stream`.
 *
 * If the interceptors return an outcome, it counts; else the result of the method counts. If the method has no result, because an
 * interceptor caught its error or did not call it, the message is handled. A thrown value that passes the interceptors is a
 * failed attempt, unless it is `retryLater()` or `deadLetter()`, or a filter returns an outcome or throws one of these two. A
 * filter that returns anything else changes nothing, because most filters only log the error.
 * See DECISIONS.md: interceptors-may-handle
 *
 * @returns a handler that throws InvalidOutcomeError if the method is no longer a function
 */
export function enhance(
  contexts: ExternalContextCreator,
  instance: object,
  name: string,
): (message: StreamMessage) => Promise<unknown> {
  const where = `${instance.constructor.name}.${name}`;
  const methods = instance as Record<string, unknown>;
  const { run, filter } = withEnhancers(contexts, {
    instance,
    name,
    method: methods[name] as object,
    contextType: 'stream',
    parameters: { metadataKey: PARAMETERS, valueOf },
    invoke: (values) => {
      // Read at each call: an app may replace the method, for example to trace it.
      const current = methods[name];
      if (typeof current !== 'function') throw new InvalidOutcomeError(`${where} is no longer a function.`);
      return (current as Method).apply(instance, values);
    },
  });
  const enhanced = async (message: StreamMessage): Promise<unknown> => {
    let ran: EnhancedResult;
    try {
      ran = await run(message);
    } catch (error) {
      if (isOutcome(error)) throw error;
      const filtered = await filter(error, message);
      if (isOutcome(filtered)) return filtered;
      throw error;
    }
    return isOutcome(ran.result) ? ran.result : ran.returned?.value;
  };
  // Logs show the handler by its name.
  return Object.defineProperty(enhanced, 'name', { value: where });
}
