import { type KnownOptions, methodDecorator } from '../../internal/src';
import type { HandlerOptions, TaskDefinition, TaskHandler } from './delayed-task.types';

/** Options of `@DelayedTask()`. */
export interface DelayedTaskOptions extends HandlerOptions {
  /**
   * True if the guards, pipes, interceptors and filters of the method, its class and the app run. Default true. A filter
   * gets the error. It may throw another one, and return or throw `retryLater()` or `deadLetter()`, but cannot make a failed
   * attempt a success.
   */
  readonly enhancers?: boolean;
}

export interface DelayedTaskMetadata {
  readonly task: string | TaskDefinition;
  readonly options: DelayedTaskOptions;
}

/** Decorator of a method that handles tasks with a payload of type `Payload`. */
export type TaskMethodDecorator<Payload> = <Method extends TaskHandler<Payload>>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

const TASKS = 'luanest:delayed-task';
const KNOWN: KnownOptions<DelayedTaskOptions> = { timeoutMs: true, enhancers: true };

/**
 * Registers a method of a provider or controller as the handler of the tasks of a name. The method gets the payload and a
 * `TaskContext`. A method may have several such decorators.
 *
 * @param task name of the tasks, 1 to 128 characters, or their definition; a name has one handler in an app. With a
 *   definition, the method must take the payload of the definition. If pipes change the type of the payload, pass `definition.name`
 * @throws InvalidOptionError when the class is loaded: for invalid options, or if the member is not an instance method
 */
export function DelayedTask<Payload>(
  task: TaskDefinition<Payload>,
  options?: DelayedTaskOptions,
): TaskMethodDecorator<Payload>;
export function DelayedTask(name: string, options?: DelayedTaskOptions): MethodDecorator;
export function DelayedTask(task: string | TaskDefinition, options: DelayedTaskOptions = {}): MethodDecorator {
  return methodDecorator('@DelayedTask', ({ checks, method }) => {
    checks.options('', options, KNOWN);
    if (options.timeoutMs !== undefined) checks.integer('timeoutMs', options.timeoutMs, 1);
    if (options.enhancers !== undefined) checks.flag('enhancers', options.enhancers);
    const known = delayedTasksOf(method);
    Reflect.defineMetadata(TASKS, [...known, { task, options }], method);
  });
}

export function delayedTasksOf(method: object): readonly DelayedTaskMetadata[] {
  return (Reflect.getMetadata(TASKS, method) ?? []) as DelayedTaskMetadata[];
}
