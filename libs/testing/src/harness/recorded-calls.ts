import type { DelayedTaskService, NewTask, ScheduleOptions, ScheduleResult } from 'luanest/delayed-task';
import type { PublishMessage, PublishResult, StreamConsumerService } from 'luanest/stream-consumer';
import type { Records } from './records';

/** Parts of the services through which all their calls go, those with many tasks or messages, too. */
interface TaskCalls {
  scheduleOne(task: NewTask, options: object): Promise<ScheduleResult>;
  schedule(tasks: readonly NewTask[], options: object): Promise<ScheduleResult[]>;
}
interface PublishCalls {
  publish(stream: { readonly name: string }, message: PublishMessage): Promise<PublishResult>;
}

/** Returns data as the handler gets it. */
function asJson(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}

/** Records the tasks that a service schedules. See DECISIONS.md: calls-recorded-inside-the-services */
export function recordTasks(service: DelayedTaskService, { scheduled }: Pick<Records, 'scheduled'>): void {
  const { queue } = service as unknown as { queue: TaskCalls };
  const keep = (given: NewTask, { id, status, runAtMs }: ScheduleResult, shared: object): void => {
    const {
      id: _id,
      payload,
      ...rest
    } = given as ScheduleOptions & { payload: unknown; name?: string; task?: { name: string } };
    const { name, task, ...own } = rest;
    scheduled.push({
      id,
      name: task?.name ?? name ?? '',
      payload: asJson(payload),
      options: definedOf({ ...own, ...shared }),
      status,
      runAtMs,
    });
  };
  const { scheduleOne, schedule } = queue;
  queue.scheduleOne = async (task, options) => {
    const result = await scheduleOne.call(queue, task, options);
    keep(task, result, options);
    return result;
  };
  queue.schedule = async (tasks, options) => {
    const results = await schedule.call(queue, tasks, options);
    results.forEach((result, index) => keep(tasks[index] as NewTask, result, options));
    return results;
  };
}

/** Records the messages that a service publishes. */
export function recordMessages(service: StreamConsumerService, { published }: Pick<Records, 'published'>): void {
  const { publisher } = service as unknown as { publisher: PublishCalls };
  const { publish } = publisher;
  publisher.publish = async (stream, message) => {
    const result = await publish.call(publisher, stream, message);
    if (result.status === 'published') {
      const { payload, key, operationId } = message;
      const { id, replayed } = result;
      published.push({ id, stream: stream.name, payload: asJson(payload), key, operationId, replayed });
    }
    return result;
  };
}

function definedOf({ id: _id, ...options }: ScheduleOptions): Omit<ScheduleOptions, 'id'> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
