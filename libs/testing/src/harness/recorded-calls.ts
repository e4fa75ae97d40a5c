import type {
  DelayedTaskService,
  NewTask,
  ScheduleOptions,
  ScheduleResult,
  TaskDefinition,
} from 'luanest/delayed-task';
import type { PublishMessage, PublishResult, StreamConsumerService } from 'luanest/stream-consumer';
import type { Records } from './records';

interface TaskCalls {
  schedule: (task: string | TaskDefinition, payload?: unknown, options?: ScheduleOptions) => Promise<ScheduleResult>;
  scheduleMany: (tasks: readonly NewTask[], options?: Pick<ScheduleOptions, 'onConflict'>) => Promise<ScheduleResult[]>;
}

/** The part of the service through which `publish` and `publishMany` go. */
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

/** Records the tasks that a service schedules. No event has a payload, so this replaces methods of the service. */
export function recordTasks(service: DelayedTaskService, { scheduled }: Pick<Records, 'scheduled'>): void {
  const calls = service as unknown as TaskCalls;
  const keep = (name: string, payload: unknown, options: object, { id, status, runAtMs }: ScheduleResult): void => {
    scheduled.push({ id, name, payload: asJson(payload), options, status, runAtMs });
  };
  const schedule = calls.schedule.bind(service);
  const scheduleMany = calls.scheduleMany.bind(service);
  calls.schedule = async (task, payload, options) => {
    const result = await schedule(task, payload, options);
    keep(typeof task === 'string' ? task : task.name, payload, optionsOf(options ?? {}), result);
    return result;
  };
  calls.scheduleMany = async (tasks, options) => {
    const results = await scheduleMany(tasks, options);
    results.forEach((result, index) => {
      const task = tasks[index] as NewTask;
      keep('task' in task ? task.task.name : task.name, task.payload, optionsOf(task, options ?? {}), result);
    });
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
