import type { DelayedTaskService, NewTask, ScheduleOptions } from 'luanest/delayed-task';
import type { StreamConsumerService } from 'luanest/stream-consumer';
import { INSPECT } from '../../../internal/src';
import type { Records, ScheduledTask } from './records';

const OPTIONS = ['delayMs', 'runAtMs', 'attempts', 'backoff', 'keepResultMs', 'onConflict'];

/** Copies data through JSON, as the handler gets it. The app may change its own object while the call runs. */
function copyOf(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}

/** Returns the record of a call; undefined for invalid arguments, which the service refuses. */
function ifValid<T>(record: () => T): T | undefined {
  try {
    return record();
  } catch {
    return undefined;
  }
}

/** Ignores the error of a call, which the caller gets from the service. */
const failed = (): void => undefined;

function optionsOf(...given: readonly object[]): Omit<ScheduleOptions, 'id'> {
  const all = given.flatMap((each) => Object.entries(each) as [string, unknown][]);
  return Object.fromEntries(all.filter(([name, value]) => OPTIONS.includes(name) && value !== undefined));
}

/** Records the tasks that a service schedules. */
export function recordTasks(service: DelayedTaskService, { scheduled }: Pick<Records, 'scheduled'>): void {
  const recordOf = (task: NewTask, options: object): Pick<ScheduledTask, 'name' | 'payload' | 'options'> => ({
    name: 'task' in task ? task.task.name : task.name,
    payload: copyOf(task.payload),
    options: optionsOf(task, options),
  });
  service[INSPECT]().watch((tasks, options, results) => {
    const calls = ifValid(() => tasks.map((task) => recordOf(task, options)));
    results.then((all) => {
      for (const [index, { id, status, runAtMs }] of all.entries()) {
        const call = calls?.[index];
        if (call) scheduled.push({ id, ...call, status, runAtMs });
      }
    }, failed);
  });
}

/** Records the messages that a service publishes. */
export function recordMessages(service: StreamConsumerService, { published }: Pick<Records, 'published'>): void {
  service[INSPECT]().watch((stream, message, result) => {
    const call = ifValid(() => {
      const { payload, key, operationId } = message;
      return { payload: copyOf(payload), key, operationId };
    });
    result.then((ended) => {
      if (ended.status !== 'published' || call === undefined) return;
      published.push({ id: ended.id, stream, ...call, replayed: ended.replayed });
    }, failed);
  });
}
