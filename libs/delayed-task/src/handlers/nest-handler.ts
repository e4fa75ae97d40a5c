import type { ExternalContextCreator } from '@nestjs/core';
import { enhanceHandler } from '../../../worker/src';
import type { TaskHandler } from '../delayed-task.types';

/** Metadata key under which Nest finds the parameters to which pipes apply. Here this is only the payload. */
const PARAMETERS = 'luanest:delayed-task-parameters';
/** Nest's number for the parameter type `body`. Pipes see the payload as a parameter of this type. */
const BODY = 3;

/**
 * Returns a task handler that calls a method. The guards, pipes, interceptors and filters of the method, its class and the app apply, in
 * an execution context of type `delayed-task`. Pipes apply only to the payload. The result of the task is the value that the interceptors
 * return.
 */
export function enhance(contexts: ExternalContextCreator, instance: object, method: object, name: string): TaskHandler {
  const parameters = { [`${BODY}:0`]: { index: 0, data: undefined, pipes: [] } };
  Reflect.defineMetadata(PARAMETERS, parameters, instance.constructor, name);
  return enhanceHandler(contexts, {
    ...{ instance, name, method, contextType: 'delayed-task' },
    parameters: { metadataKey: PARAMETERS, valueOf: (_type, _data, [payload]) => payload },
    arguments: ([payload], [, task]) => [payload, task],
    value: ({ result }) => result,
  });
}
