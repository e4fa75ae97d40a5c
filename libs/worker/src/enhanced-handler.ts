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
  /** Function of the method. Its decorators have stored their metadata on this function. */
  readonly method: object;
  /** Name that `context.getType()` returns to guards, pipes, interceptors and filters, such as `stream`. */
  readonly contextType: string;
  readonly parameters: PipedParameters;
  /** Returns the arguments to call the method with. `values` are the parameters after the pipes ran; `args` are the arguments before. */
  readonly arguments: (values: unknown[], args: readonly unknown[]) => unknown[];
  /** Returns the result of a handler that succeeded. `ran` holds what the method returned, and what the interceptors made of it. */
  readonly value: (ran: EnhancedResult) => unknown;
}

/**
 * Returns a handler that runs a method with its guards, pipes, interceptors and exception filters, those of its class and those of the app.
 * The attempt fails if an error leaves the interceptors. An exception filter may return or throw `retryLater()` or `deadLetter()`, or throw
 * another error; any other value that a filter returns is ignored. If the method itself returns or throws `retryLater()` or `deadLetter()`,
 * this counts, even if an interceptor replaces or catches it.
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
      // The method is read at each call, because the app may have replaced it, for example for tracing.
      const current = (instance as Record<string, unknown>)[name];
      if (typeof current !== 'function')
        throw new InvalidInputError(
          `The handler ${where} is no longer a function: code of the app has replaced the method. Restore the method.`,
          { code: 'INVALID_OUTCOME' },
        );
      return (current as Method).apply(instance, handler.arguments(values, args));
    },
  });
  const enhanced = async (...args: unknown[]): Promise<unknown> => {
    let ran: EnhancedResult;
    try {
      ran = await run(...args);
    } catch (error) {
      // `retryLater()` and `deadLetter()` are not errors, so exception filters must not see them. A filter for all exceptions would report
      // them.
      if (unfinishedOutcome(error)) throw error;
      const filtered = unfinishedOutcome(await filter(error, ...args));
      if (filtered) return filtered;
      throw error;
    }
    return unfinishedOutcome(ran.result) ?? unfinishedOutcome(ran.returned?.value) ?? value(ran);
  };
  // The name of the function appears in logs.
  return Object.defineProperty(enhanced, 'name', { value: where });
}
