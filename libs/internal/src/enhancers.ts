import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExternalContextCreator } from '@nestjs/core';
import { isObservable, tap } from 'rxjs';
import { unfinishedOutcome } from './handler-outcome';
import { disguise, type Method } from './handlers';

/** Parameters of a method that pipes may change. */
export interface PipedParameters {
  /** Metadata key under which the class stores the parameters of its methods, in the format of Nest. */
  readonly metadataKey: string;
  /** Returns the value that is passed to the pipes of a parameter. `args` are the arguments of the call. */
  readonly valueOf: (type: number, data: unknown, args: readonly unknown[]) => unknown;
}

/** Method that is to run with its guards, pipes, interceptors and filters. */
export interface MethodToEnhance {
  readonly instance: object;
  readonly name: string;
  /** Function on which the decorators set their metadata. */
  readonly method: object;
  /** Type of the execution context, which `context.getType()` returns. */
  readonly contextType: string;
  /** Parameters for the pipes. Default: pipes do not run, and the method gets the arguments of the call. */
  readonly parameters?: PipedParameters;
  /** Calls the method. `values` are the values that the pipes returned. `args` are the arguments of the call. */
  readonly invoke: (values: unknown[], args: readonly unknown[]) => unknown;
}

export interface EnhancedResult {
  /** Result that the interceptors returned. They may have caught an error, or may not have called the method. */
  readonly result: unknown;
  /**
   * Result of the last call of the method itself. If the method returned an Observable, this is the last value. A thrown `retryLater()`
   * or `deadLetter()` also counts as a result. Undefined if the method was not called, threw an error, or had not ended when an
   * interceptor returned.
   */
  readonly returned: { readonly value: unknown } | undefined;
}

export interface EnhancedMethod {
  /**
   * Runs the method with its guards, pipes and interceptors, but without filters.
   *
   * @throws each error of the method, a guard, a pipe or an interceptor
   */
  readonly run: (...args: unknown[]) => Promise<EnhancedResult>;
  /**
   * Runs the filters on an error of `run`, with the arguments of the call.
   *
   * @returns the result of the filter that caught the error
   * @throws the error itself if no filter catches it, or if a filter that is not async returns nothing; otherwise the error that the
   *   filter throws
   */
  readonly filter: (error: unknown, ...args: unknown[]) => Promise<unknown>;
}

/**
 * One call of `EnhancedMethod.run` or `EnhancedMethod.filter`. `error` is the error that `filter` got. `returned` is the result of the
 * method.
 */
interface Call {
  readonly args: readonly unknown[];
  readonly error?: unknown;
  returned?: { readonly value: unknown };
}

/**
 * Prepares a method to run with the guards, pipes, interceptors and filters of the method, its class and the app.
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
  // Nest 11 caches parameters by the name of the method. If both had the same name, Nest would run the pipes before the filters.
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
