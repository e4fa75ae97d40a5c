import type { ExternalContextCreator } from '@nestjs/core';
import { enhanceHandler } from '../../../worker/src';
import type { TaskHandler } from '../delayed-task.types';

/** Metadata key under which Nest finds the parameters for pipes. The payload is the only one. */
const PARAMETERS = 'luanest:delayed-task-parameters';
/** Nest's number for parameters of the type `body`. Pipes see the payload as such a parameter. */
const BODY = 3;

/**
 * Makes a task handler of a method with `@DelayedTask`. Guards, pipes, interceptors and exception filters apply, in an execution context of
 * type `delayed-task`. Pipes get the payload only. The result of the task is what the interceptors return.
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
