import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExternalContextCreator } from '@nestjs/core';
import { isObservable, tap } from 'rxjs';
import { unfinishedOutcome } from './handler-outcome';
import { disguise, type Method } from './handlers';

/** Describes how Nest's pipes get the parameters of a handler method. */
export interface PipedParameters {
  /** Metadata key under which a class stores the decorated parameters of its methods, in Nest's format. */
  readonly metadataKey: string;
  /** Returns the value to pass through the pipes of a parameter. `args` are the arguments of the call. */
  readonly valueOf: (type: number, data: unknown, args: readonly unknown[]) => unknown;
}

/** Handler method to call with its guards, pipes, interceptors and exception filters. */
export interface MethodToEnhance {
  readonly instance: object;
  readonly name: string;
  /** Function of the method. Its decorators have stored their metadata on this function. */
  readonly method: object;
  /** Name that `context.getType()` returns in guards, pipes, interceptors and filters. */
  readonly contextType: string;
  /** Parameters to pass through pipes. Default: no pipes run, and the method gets the arguments of the call. */
  readonly parameters?: PipedParameters;
  /** Calls the method. `values` are the parameters after the pipes; `args` are the arguments of the call. */
  readonly invoke: (values: unknown[], args: readonly unknown[]) => unknown;
}

export interface EnhancedResult {
  /** Value that came out of the interceptors. An interceptor may have replaced an error by it, or may have skipped the method. */
  readonly result: unknown;
  /**
   * Value that the method itself returned in its last call. If the method returned an Observable, this is its last value. A thrown
   * `retryLater()` or `deadLetter()` counts as returned. Undefined if the method was not called, threw an error, or had not ended when the
   * interceptors returned.
   */
  readonly returned: { readonly value: unknown } | undefined;
}

export interface EnhancedMethod {
  /**
   * Calls the method with its guards, pipes and interceptors, but without exception filters.
   *
   * @throws any error of the method, a guard, a pipe or an interceptor
   */
  readonly run: (...args: unknown[]) => Promise<EnhancedResult>;
  /**
   * Passes an error of `run` to the exception filters, with the arguments of the call.
   *
   * @returns the result of the filter that caught the error
   * @throws the error itself if no filter catches it, or if a filter that is not async returns nothing, because Nest then throws the error
   *   again. If a filter throws another error, that error
   */
  readonly filter: (error: unknown, ...args: unknown[]) => Promise<unknown>;
}

/** State of one call of `run` or `filter`: the error for the filters, and the value that the method returned. */
interface Call {
  readonly args: readonly unknown[];
  readonly error?: unknown;
  returned?: { readonly value: unknown };
}

/**
 * Lets a handler method run with guards, pipes, interceptors and exception filters, as Nest's controllers do.
 * See DECISIONS.md: filters-in-a-context-of-their-own
 */
export function withEnhancers(contexts: ExternalContextCreator, target: MethodToEnhance): EnhancedMethod {
  const { instance, name, method, contextType, parameters, invoke } = target;
  const calls = new AsyncLocalStorage<Call>();
  const none = undefined;
  const around = disguise(
    async (...values) => {
      const call = calls.getStore();
      if (call) call.returned = undefined;
      const note = (value: unknown): void => {
        if (call) call.returned = { value };
      };
      const noteThrown = (thrown: unknown): void => {
        if (unfinishedOutcome(thrown)) note(thrown);
      };
      try {
        const value: unknown = await invoke(values, call?.args ?? values);
        if (isObservable(value)) return value.pipe(tap({ next: note, error: noteThrown }));
        note(value);
        return value;
      } catch (thrown) {
        noteThrown(thrown);
        throw thrown;
      }
    },
    method,
    name,
  );
  const thrower = disguise(
    () => {
      throw calls.getStore()?.error;
    },
    method,
    name,
  );
  const key = parameters?.metadataKey;
  const factory = parameters && { exchangeKeyForValue: parameters.valueOf };
  const inside = { guards: true, interceptors: true, filters: false };
  const runAround = contexts.create(instance, around, name, key, factory, none, none, inside, contextType) as Method;
  const outside = { guards: false, interceptors: false, filters: true };
  // Nest 11 caches the parameters of a method under its name. If both contexts had the same method name, Nest would run the pipes again
  // before the filters.
  const filterName = `${name} (filters)`;
  const runFilters = contexts.create(instance, thrower, filterName, none, none, none, none, outside, contextType) as (
    ...args: unknown[]
  ) => Promise<unknown>;
  return {
    run: async (...args) => {
      const call: Call = { args };
      const result = await calls.run(call, runAround, ...args);
      return { result, returned: call.returned };
    },
    filter: (error, ...args) => calls.run({ args, error }, runFilters, ...args),
  };
}
