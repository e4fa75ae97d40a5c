import type { ExternalContextCreator } from '@nestjs/core';
import { unfinishedOutcome, withEnhancers, type Method } from '../../../internal/src';
import type { TaskContext, TaskHandler } from '../delayed-task.types';

/** Metadata key under which Nest finds the one parameter that goes through pipes: the payload. */
const PARAMETERS = 'luanest:delayed-task-parameters';
/** Nest's number for parameters of type `body`. Pipes get the payload as such a parameter. */
const BODY = 3;

/**
 * Makes a handler of a method, with the guards, pipes, interceptors and filters of the method, its class and the app. They run
 * in a context of type `delayed-task`. Pipes get the payload only. The result after the interceptors counts, but `retryLater()` or
 * `deadLetter()` of the method counts even if an interceptor wrapped or caught it. A filter cannot make a failed attempt a success.
 */
export function enhance(contexts: ExternalContextCreator, instance: object, method: Method, name: string): TaskHandler {
  const parameters = { [`${BODY}:0`]: { index: 0, data: undefined, pipes: [] } };
  Reflect.defineMetadata(PARAMETERS, parameters, instance.constructor, name);
  const { run, filter } = withEnhancers(contexts, {
    instance,
    name,
    method,
    contextType: 'delayed-task',
    parameters: { metadataKey: PARAMETERS, valueOf: (_type, _data, [payload]) => payload },
    invoke: ([payload], [, task]) => method.call(instance, payload, task),
  });
  return async (payload: unknown, task: TaskContext) => {
    try {
      const { result, returned } = await run(payload, task);
      return unfinishedOutcome(result) ?? unfinishedOutcome(returned?.value) ?? result;
    } catch (error) {
      // Filters do not get outcomes: a filter that catches everything would report an outcome as an error.
      if (unfinishedOutcome(error)) throw error;
      // What a filter returns is ignored. What it throws replaces the error.
      // See DECISIONS.md: filters-run-apart
      await filter(error, payload, task);
      throw error;
    }
  };
}
