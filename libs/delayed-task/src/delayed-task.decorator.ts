import { Inject } from '@nestjs/common';
import { methodDecorator, noteHandler } from '../../internal/src';
import { DelayedTaskService } from './delayed-task.service';
import type { TaskDefinition, TaskHandler } from './delayed-task.types';

/** Decorator of a method that handles tasks with a payload of type `Payload`. */
export type TaskMethodDecorator<Payload> = <Method extends TaskHandler<Payload>>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

const TASKS = 'luanest:delayed-task';

/**
 * Registers a method of a provider or controller as the handler of all tasks with a name. The method gets the payload and a
 * `TaskContext`. The guards, pipes, interceptors and filters of the method, its class and the app apply. A method may have several such
 * decorators.
 *
 * @param task name of the tasks, 1 to 128 characters, or their definition from `defineTask`. In each queue, a name can have only one
 *   handler in an app. If you pass a definition, the compiler checks that the method accepts its payload. If pipes change the type of the
 *   payload, pass `definition.name` instead. After a name, `{ queue }` is the queue of the tasks; default: the first queue, which is the
 *   `namespace` of the module. A definition has its own `queue`
 * @throws InvalidOptionError when the class is loaded, if the member is not an instance method
 *
 * @example
 * `@DelayedTask('order.expire') async expire({ orderId }: { orderId: string }) { await cancelOrder(orderId); }`
 */
export function DelayedTask<Payload>(task: TaskDefinition<Payload>): TaskMethodDecorator<Payload>;
export function DelayedTask(name: string, options?: { readonly queue?: string }): MethodDecorator;
export function DelayedTask(task: string | TaskDefinition, options?: { readonly queue?: string }): MethodDecorator {
  return methodDecorator('@DelayedTask', ({ where, target, method }) => {
    noteHandler('@DelayedTask', target, where);
    // If the app does not import the module, Nest cannot resolve this dependency. The error of Nest then contains the text of the
    // symbol.
    Inject(DelayedTaskService)(target, Symbol(`@DelayedTask on ${where} needs DelayedTaskModule.forRoot()`));
    Reflect.defineMetadata(
      TASKS,
      [...delayedTasksOf(method), typeof task === 'string' && options ? { ...options, name: task } : task],
      method,
    );
  });
}

/** Returns the tasks that a method handles. */
export function delayedTasksOf(method: object): readonly (string | TaskDefinition)[] {
  return (Reflect.getMetadata(TASKS, method) ?? []) as (string | TaskDefinition)[];
}
