import type { DelayedTaskService, NewTask, ScheduleOptions, ScheduleResult } from 'luanest/delayed-task';
import type { PublishMessage, PublishResult, StreamConsumerService } from 'luanest/stream-consumer';
import type { Records } from './records';

/** Parts of the services through which all their calls go, those with many tasks or messages, too. */
interface TaskCalls {
  scheduleOne: (task: NewTask, options: object) => Promise<ScheduleResult>;
  schedule: (tasks: readonly NewTask[], options: object) => Promise<ScheduleResult[]>;
}
interface PublishCalls {
  publish: (stream: { readonly name: string }, message: PublishMessage) => Promise<PublishResult>;
}

const OPTIONS = ['delayMs', 'runAtMs', 'attempts', 'backoff', 'keepResultMs', 'onConflict'];

/** Returns data as the handler gets it. */
function asJson(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}

function optionsOf(...given: readonly object[]): Omit<ScheduleOptions, 'id'> {
  const all = given.flatMap((each) => Object.entries(each) as [string, unknown][]);
  return Object.fromEntries(all.filter(([name, value]) => OPTIONS.includes(name) && value !== undefined));
}

/** Records the tasks that a service schedules. No event has a payload, so this replaces methods of the service's parts. */
export function recordTasks(service: DelayedTaskService, { scheduled }: Pick<Records, 'scheduled'>): void {
  const { queue } = service as unknown as { queue: TaskCalls };
  const keep = (task: NewTask, { id, status, runAtMs }: ScheduleResult, options: object): void => {
    const name = 'task' in task ? task.task.name : task.name;
    scheduled.push({ id, name, payload: asJson(task.payload), options: optionsOf(task, options), status, runAtMs });
  };
  const scheduleOne = queue.scheduleOne.bind(queue);
  const schedule = queue.schedule.bind(queue);
  queue.scheduleOne = async (task, options) => {
    const result = await scheduleOne(task, options);
    keep(task, result, options);
    return result;
  };
  queue.schedule = async (tasks, options) => {
    const results = await schedule(tasks, options);
    results.forEach((result, index) => keep(tasks[index] as NewTask, result, options));
    return results;
  };
}

/** Records the messages that a service publishes. */
export function recordMessages(service: StreamConsumerService, { published }: Pick<Records, 'published'>): void {
  const { publisher } = service as unknown as { publisher: PublishCalls };
  const publish = publisher.publish.bind(publisher);
  publisher.publish = async (stream, message) => {
    const result = await publish(stream, message);
    if (result.status === 'published') {
      const { payload, key, operationId } = message;
      const { id, replayed } = result;
      published.push({ id, stream: stream.name, payload: asJson(payload), key, operationId, replayed });
    }
    return result;
  };
}
