import { type KnownOptions, methodDecorator } from '../../internal/src';
import type { HandlerOptions } from './delayed-task.types';

/** Options of `@DelayedTask()`. */
export interface DelayedTaskOptions extends HandlerOptions {
  /**
   * True if the guards, pipes, interceptors and filters of the method, its class and the app run. Default true. A filter
   * gets the error and may throw another one. It cannot make a failed attempt a success.
   */
  readonly enhancers?: boolean;
}

/** Metadata of one `@DelayedTask()` of a method. */
export interface DelayedTaskMetadata {
  readonly name: string;
  readonly options: DelayedTaskOptions;
}

const TASKS = 'luanest:delayed-task';
const KNOWN: KnownOptions<DelayedTaskOptions> = { timeoutMs: true, enhancers: true };

/**
 * Registers a method of a provider or controller as the handler of the tasks of a name. The method gets the payload and a
 * `TaskContext`. A method may have several such decorators.
 *
 * @param name name of the tasks, 1 to 128 characters; a name has one handler in an app
 * @throws InvalidOptionError when the class is loaded: for invalid options, or if the member is not an instance method
 */
export function DelayedTask(name: string, options: DelayedTaskOptions = {}): MethodDecorator {
  return methodDecorator('@DelayedTask', ({ checks, method }) => {
    checks.options('', options, KNOWN);
    if (options.timeoutMs !== undefined) checks.integer('timeoutMs', options.timeoutMs, 1);
    if (options.enhancers !== undefined) checks.flag('enhancers', options.enhancers);
    const known = delayedTasksOf(method);
    Reflect.defineMetadata(TASKS, [...known, { name, options }], method);
  });
}

/** Returns the metadata of each `@DelayedTask()` of a method; empty if there is none. */
export function delayedTasksOf(method: object): readonly DelayedTaskMetadata[] {
  return (Reflect.getMetadata(TASKS, method) ?? []) as DelayedTaskMetadata[];
}
