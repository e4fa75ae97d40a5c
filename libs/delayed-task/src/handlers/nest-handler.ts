import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExternalContextCreator } from '@nestjs/core';
import { disguise, unfinishedOutcome, type Method } from '../../../internal/src';
import type { TaskContext, TaskHandler } from '../delayed-task.types';

/** Type of the execution context that guards, pipes, interceptors and filters of tasks get. */
const DELAYED_TASK_CONTEXT = 'delayed-task';

/** Metadata key under which Nest finds the parameters that go through pipes. */
const PARAMETERS = 'luanest:delayed-task-parameters';
/** Nest's parameter type `body`, which pipes get for the payload. */
const PAYLOAD = 3;

interface Call {
  readonly task: TaskContext;
  readonly error?: unknown;
}

/**
 * Returns a handler that runs a method with the guards, pipes, interceptors and filters of the method, its class and the app.
 *
 * Pipes get the payload only. Filters run apart from the handler, because Nest would return their value as the handler's.
 */
export function enhance(contexts: ExternalContextCreator, instance: object, method: Method, key: string): TaskHandler {
  const calls = new AsyncLocalStorage<Call>();
  const parameters = { [`${PAYLOAD}:0`]: { index: 0, data: undefined, pipes: [] } };
  Reflect.defineMetadata(PARAMETERS, parameters, instance.constructor, key);
  const create = (work: Method, guards: boolean, filters: boolean): Method => {
    const options = { guards, interceptors: guards, filters };
    const factory = { exchangeKeyForValue: (_type: number, _data: unknown, [payload]: unknown[]) => payload };
    const handler = disguise(work, method, key);
    const none = undefined;
    const type = DELAYED_TASK_CONTEXT;
    if (!guards) return contexts.create(instance, handler, key, none, none, none, none, options, type) as Method;
    return contexts.create(instance, handler, key, PARAMETERS, factory, none, none, options, type) as Method;
  };
  const run = create((payload) => method.call(instance, payload, calls.getStore()?.task), true, false);
  // See DECISIONS.md: filters-run-apart
  const filter = create(
    () => {
      throw calls.getStore()?.error;
    },
    false,
    true,
  );
  return async (payload: unknown, task: TaskContext) => {
    try {
      return await calls.run({ task }, run, payload, task);
    } catch (error) {
      // Not for filters: Nest logs what no filter catches as an error with a stack, and these are outcomes, not errors.
      if (unfinishedOutcome(error)) throw error;
      // Throws the error if no filter catches it, or the error that a filter throws.
      await calls.run({ task, error }, filter, payload, task);
      throw error;
    }
  };
}
