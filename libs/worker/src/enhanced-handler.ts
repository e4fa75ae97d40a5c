import type { ExternalContextCreator } from '@nestjs/core';
import {
  InvalidInputError,
  unfinishedOutcome,
  withEnhancers,
  type EnhancedResult,
  type Method,
  type PipedParameters,
} from '../../internal/src';

/** A decorated method that handles tasks or messages. */
export interface EnhancedHandler {
  readonly instance: object;
  readonly name: string;
  /** Function that has the metadata of the decorators. */
  readonly method: object;
  /** Type of the execution context, which `context.getType()` returns. */
  readonly contextType: string;
  readonly parameters: PipedParameters;
  /** Returns the arguments of the method, made from the values after the pipes and from the arguments of the call. */
  readonly arguments: (values: unknown[], args: readonly unknown[]) => unknown[];
  /** Returns the value of a handler that succeeded, from what the handler and its interceptors returned. */
  readonly value: (ran: EnhancedResult) => unknown;
}

/**
 * Makes a handler of a method, with the guards, pipes, interceptors and filters of the method, its class and the app. An error that
 * passes the interceptors is a failed attempt. A filter may return or throw `retryLater()` or `deadLetter()`, or throw another
 * error; what else it returns changes nothing. These outcomes of the method count even if an interceptor wrapped or caught them.
 * See DECISIONS.md: filters-cannot-succeed
 *
 * @returns a handler that throws InvalidInputError if the method is no longer a function
 */
export function enhanceHandler(contexts: ExternalContextCreator, handler: EnhancedHandler): Method {
  const { instance, name, method, contextType, parameters, value } = handler;
  const where = `${instance.constructor.name}.${name}`;
  const { run, filter } = withEnhancers(contexts, {
    ...{ instance, name, method, contextType, parameters },
    invoke: (values, args) => {
      // The method is read at each call, because an app may replace it, for example to trace it.
      const current = (instance as Record<string, unknown>)[name];
      if (typeof current !== 'function')
        throw new InvalidInputError(`${where} is no longer a function.`, { code: 'INVALID_OUTCOME' });
      return (current as Method).apply(instance, handler.arguments(values, args));
    },
  });
  const enhanced = async (...args: unknown[]): Promise<unknown> => {
    let ran: EnhancedResult;
    try {
      ran = await run(...args);
    } catch (error) {
      // Filters do not get outcomes: a filter that catches everything would report an outcome as an error.
      if (unfinishedOutcome(error)) throw error;
      const filtered = unfinishedOutcome(await filter(error, ...args));
      if (filtered) return filtered;
      throw error;
    }
    return unfinishedOutcome(ran.result) ?? unfinishedOutcome(ran.returned?.value) ?? value(ran);
  };
  // Logs show the handler by its name.
  return Object.defineProperty(enhanced, 'name', { value: where });
}
