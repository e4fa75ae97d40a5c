import { type KnownOptions, methodDecorator } from '../../internal/src';
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
const KNOWN: KnownOptions<DelayedTaskOptions> = { timeoutMs: true, enhancers: true };

/**
 * Lets a method of a provider or controller do the tasks of a name: it is called with the payload and the task.
 *
 * @param name 1 to 128 characters; one handler each in an app
 * @throws InvalidOptionError when the class is loaded, for invalid options, and on anything but an instance method
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

/** What `@DelayedTask` left on a method; empty where it was not used. */
export function delayedTasksOf(method: object): readonly DelayedTaskMetadata[] {
  return (Reflect.getMetadata(TASKS, method) ?? []) as DelayedTaskMetadata[];
}
