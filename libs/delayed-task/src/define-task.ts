import { Checks, type KnownOptions } from '../../internal/src';
import { checkAttempts, checkTimeout, resolveBackoff } from '../../worker/src';
import { checkKeep, checkQueue, KNOWN_SETTINGS } from './delayed-task.options';
import type { TaskDefinition, TaskDefinitionOptions } from './delayed-task.types';
import { checkName } from './queue/task-codec';

const KNOWN: KnownOptions<TaskDefinitionOptions> = {
  name: true,
  queue: true,
  timeoutMs: true,
  ...KNOWN_SETTINGS,
};

/**
 * Defines the settings of all tasks with a name, and the type of their payload. Pass the definition instead of the name to `schedule`,
 * `scheduleMany`, `@DelayedTask` and `handle`. Pass it to `get` for a typed payload.
 *
 * `Payload` must be a type of JSON data, because the payload is stored as JSON. If the payload contains a Date, the handler gets a
 * string. If the payload is undefined, the handler gets null. Properties that are undefined are missing.
 *
 * @param options name and settings of the tasks. These settings override those of the module. The options of a call override both
 * @throws InvalidOptionError for invalid settings, InvalidInputError for an invalid name
 *
 * @example
 * ```ts
 * const expireOrder = defineTask<{ orderId: string }>({ name: 'order.expire', attempts: 5, timeoutMs: 10_000 });
 * ```
 */
export function defineTask<Payload>(options: TaskDefinitionOptions): TaskDefinition<Payload> {
  new Checks('defineTask').object('', options);
  const name = checkName(options.name);
  const checks = new Checks(`defineTask of ${name}`);
  const { attempts, backoff, keepResultMs, queue, timeoutMs } = checks.options('', options, KNOWN);
  return Object.freeze({
    name,
    ...(queue !== undefined && { queue: checkQueue(checks, 'queue', queue) }),
    ...(attempts !== undefined && { attempts: checkAttempts(checks, attempts) }),
    ...(backoff !== undefined && { backoff: resolveBackoff(backoff, checks) }),
    ...(keepResultMs !== undefined && { keepResultMs: checkKeep(keepResultMs, checks) }),
    ...(timeoutMs !== undefined && { timeoutMs: checkTimeout(checks, timeoutMs) }),
  });
}
