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
  /** The method's function, on which decorators have stored their metadata. */
  readonly method: object;
  /** Type of the Nest execution context, which `context.getType()` returns. */
  readonly contextType: string;
  readonly parameters: PipedParameters;
  /**
   * Returns the arguments for the method. `values` are the parameters after the pipes; `args` are the arguments of the call before the
   * pipes.
   */
  readonly arguments: (values: unknown[], args: readonly unknown[]) => unknown[];
  /** Returns the result of a handler that succeeded. `ran` has the values that the method and the interceptors returned. */
  readonly value: (ran: EnhancedResult) => unknown;
}

/**
 * Returns a handler that calls a method with the guards, pipes, interceptors and filters of the method, its class and the app. If the
 * interceptors let an error through, the attempt has failed. An exception filter may return or throw `retryLater()` or `deadLetter()`, or
 * throw another error. All other values that a filter returns are ignored. If the method returns or throws `retryLater()` or
 * `deadLetter()`, this outcome counts even if an interceptor changed or caught it.
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
      // Reads the method at each call, because the app may have replaced it, for example for tracing.
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
      // Filters do not get `retryLater()` and `deadLetter()`: a filter that catches everything would report them as errors.
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
