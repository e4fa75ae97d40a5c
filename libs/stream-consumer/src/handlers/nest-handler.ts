import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExternalContextCreator } from '@nestjs/core';
import { disguise, InvalidOutcomeError, type Method } from '../../../internal/src';
import { PARAMETER_TYPES, PARAMETERS } from '../stream-consumer.decorator';
import type { StreamMessage } from '../stream-consumer.types';
import { isOutcome } from './outcome';

type Running = (...args: unknown[]) => Promise<unknown>;

/** Type of the execution context in which enhancers of handlers run. */
const CONTEXT = 'stream';

/** Gives the parameters of a handler their values. */
const parameters = {
  exchangeKeyForValue(type: number, data: unknown, [message]: unknown[]): unknown {
    if (type !== PARAMETER_TYPES.payload) return message;
    const { payload } = message as StreamMessage<Record<string, unknown> | null>;
    return typeof data === 'string' ? payload?.[data] : payload;
  },
};

/** Result of the method itself in one call, before its enhancers change it. */
interface MethodCall {
  ran: boolean;
  result: unknown;
}

/**
 * Makes a handler of a method, with the guards, pipes, interceptors and filters of the method, its class and the app. They
 * run in a context of type `stream`.
 *
 * Only the method itself handles a message by returning nothing. An interceptor may replace the result by another outcome;
 * any other change is ignored. An error that reaches the filters is a failed attempt, unless a filter returns an outcome:
 * most filters return nothing, also when the work failed.
 * See DECISIONS.md: method-decides-the-outcome
 *
 * @returns a handler that throws InvalidOutcomeError if an interceptor neither calls the method nor returns an outcome
 */
export function enhance(
  contexts: ExternalContextCreator,
  instance: object,
  name: string,
): (message: StreamMessage) => Promise<unknown> {
  const where = `${instance.constructor.name}.${name}`;
  const method = (instance as Record<string, object>)[name] as object;
  const storage = new AsyncLocalStorage<MethodCall>();
  const handler = disguise(
    async (...args) => {
      const call = storage.getStore();
      // Read at each call: an app may replace the method, for example to trace it.
      const current = (instance as Record<string, unknown>)[name];
      if (typeof current !== 'function') throw new InvalidOutcomeError(`${where} is no longer a function.`);
      const result: unknown = await (current as Method).apply(instance, args);
      if (call) Object.assign(call, { ran: true, result });
      return result;
    },
    method,
    name,
  );
  const thrower = disguise(
    (_message, error) => {
      throw error;
    },
    method,
    name,
  );
  const create = (callback: Method, key: string, factory: typeof parameters | undefined, filters: boolean): Running => {
    const options = { guards: !filters, interceptors: !filters, filters };
    const none = undefined;
    return contexts.create(instance, callback, name, key, factory, none, none, options, CONTEXT) as Running;
  };
  const runEnhanced = create(handler, PARAMETERS, parameters, false);
  const runFilters = create(thrower, '', undefined, true);
  const enhanced = async (message: StreamMessage): Promise<unknown> => {
    const call: MethodCall = { ran: false, result: undefined };
    let result: unknown;
    try {
      result = await storage.run(call, () => runEnhanced(message));
    } catch (error) {
      if (isOutcome(error)) throw error;
      const filtered = await runFilters(message, error);
      if (isOutcome(filtered)) return filtered;
      throw error;
    }
    if (isOutcome(result)) return result;
    if (call.ran) return call.result;
    throw new InvalidOutcomeError(
      `An interceptor returned without a call of ${where}. ` +
        `Return commit(), retryLater({ delayMs }) or deadLetter(reason) from it.`,
    );
  };
  // Logs use the name.
  return Object.defineProperty(enhanced, 'name', { value: where });
}
