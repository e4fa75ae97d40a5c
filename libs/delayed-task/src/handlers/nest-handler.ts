import type { ExternalContextCreator } from '@nestjs/core';
import { enhanceHandler } from '../../../worker/src';
import type { TaskHandler } from '../delayed-task.types';

/** Metadata key under which Nest finds the one parameter that goes through pipes: the payload. */
const PARAMETERS = 'luanest:delayed-task-parameters';
/** Nest's number for parameters of type `body`. Pipes get the payload as such a parameter. */
const BODY = 3;

/**
 * Makes a handler of a method, with the guards, pipes, interceptors and filters of the method, its class and the app. They run
 * in a context of type `delayed-task`. Pipes get the payload only. The result after the interceptors is kept.
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
