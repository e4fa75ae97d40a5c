import { checkObject, shown } from '../../internal/src';
import type { HandlerOptions } from './delayed-task.types';

/** What `@DelayedTask()` takes beside the name. */
export interface DelayedTaskOptions extends HandlerOptions {
  /**
   * Whether guards, pipes, interceptors and filters run, those of the method, its class and the app. Default true. A filter
   * sees what went wrong and may throw something else; it cannot make a failed attempt a success.
   */
  readonly enhancers?: boolean;
}

/** What the decorator left on a method: one entry for each time it stands there. */
export interface DelayedTaskMetadata {
  readonly name: string;
  readonly options: DelayedTaskOptions;
}

const TASKS = 'luanest:delayed-task';

/**
 * Lets a method of a provider or controller do the tasks of a name: it is called with the payload and the task.
 *
 * @param name 1 to 128 characters; one handler each in an app
 * @throws InvalidOptionError for options that are no object
 */
export function DelayedTask(name: string, options: DelayedTaskOptions = {}): MethodDecorator {
  return (target, key, descriptor: PropertyDescriptor) => {
    const method: unknown = descriptor.value;
    if (typeof method !== 'function') {
      throw new TypeError(`@DelayedTask(${JSON.stringify(name)}) stands on ${String(key)}, which is no method.`);
    }
    checkObject(`@DelayedTask(${shown(name)}) on ${target.constructor.name}.${String(key)}`, options);
    const known = delayedTasksOf(method);
    Reflect.defineMetadata(TASKS, [...known, { name, options }], method);
  };
}

/** What `@DelayedTask` left on a method; empty where it was not used. */
export function delayedTasksOf(method: object): readonly DelayedTaskMetadata[] {
  return (Reflect.getMetadata(TASKS, method) ?? []) as DelayedTaskMetadata[];
}
