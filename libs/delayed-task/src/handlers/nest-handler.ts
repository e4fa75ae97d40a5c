import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExternalContextCreator } from '@nestjs/core';
import { disguise, type Method } from '../../../internal/src';
import { DeadLetterTaskError, RetryTaskError } from '../delayed-task.errors';
import type { TaskContext, TaskHandler } from '../delayed-task.types';

/** Type of the execution context in which enhancers of tasks run. */
export const DELAYED_TASK_CONTEXT = 'delayed-task';

/** Where Nest finds which parameters go through pipes. */
const PARAMETERS = 'luanest:delayed-task-parameters';
/** `body` in the words of pipes. */
const PAYLOAD = 3;

interface Call {
  readonly task: TaskContext;
  readonly error?: unknown;
}

/**
 * A handler with the guards, pipes, interceptors and filters of a method, its class and the app.
 *
 * Pipes see the payload only. Filters run apart: what they return must not pass for the handler's success.
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
      // They are no failures that anybody shall hear of: Nest logs what no filter catches as an error, with a stack.
      if (error instanceof RetryTaskError || error instanceof DeadLetterTaskError) throw error;
      // Throws what no filter wanted, or what a filter threw.
      await calls.run({ task, error }, filter, payload, task);
      throw error;
    }
  };
}
