import type {
  DelayedTaskService,
  NewTask,
  ScheduleOptions,
  ScheduleResult,
  TaskDefinition,
} from 'luanest/delayed-task';
import type { PublishMessage, PublishResult, StreamConsumerService } from 'luanest/stream-consumer';
import type { Records, ScheduledTask } from './records';

type Call = Pick<ScheduledTask, 'name' | 'payload' | 'options'>;

interface TaskCalls {
  schedule: (task: string | TaskDefinition, payload?: unknown, options?: ScheduleOptions) => Promise<ScheduleResult>;
  scheduleMany: (tasks: readonly NewTask[], options?: Pick<ScheduleOptions, 'onConflict'>) => Promise<ScheduleResult[]>;
}

/** The part of the service through which `publish` and `publishMany` go. */
interface PublishCalls {
  publish: (stream: { readonly name: string }, message: PublishMessage) => Promise<PublishResult>;
}

const OPTIONS = ['delayMs', 'runAtMs', 'attempts', 'backoff', 'keepResultMs', 'onConflict'];

/** Returns a copy of data, as the handler gets it. The app may change its own object while the call runs. */
function copyOf(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}

/** Returns what a call is recorded as; undefined for a call that the service refuses. */
function ifValid<T>(record: () => T): T | undefined {
  try {
    return record();
  } catch {
    return undefined;
  }
}

function optionsOf(...given: readonly object[]): Omit<ScheduleOptions, 'id'> {
  const all = given.flatMap((each) => Object.entries(each) as [string, unknown][]);
  return Object.fromEntries(all.filter(([name, value]) => OPTIONS.includes(name) && value !== undefined));
}

/** Records the tasks that a service schedules. No event has a payload, so this replaces methods of the service. */
export function recordTasks(service: DelayedTaskService, { scheduled }: Pick<Records, 'scheduled'>): void {
  const calls = service as unknown as TaskCalls;
  const schedule = calls.schedule.bind(service);
  const scheduleMany = calls.scheduleMany.bind(service);
  const recordOf = (task: string | TaskDefinition, payload: unknown, ...options: object[]): Call => ({
    name: typeof task === 'string' ? task : task.name,
    payload: copyOf(payload),
    options: optionsOf(...options),
  });
  const keep = (call: Call | undefined, { id, status, runAtMs }: ScheduleResult): void => {
    if (call !== undefined) scheduled.push({ id, ...call, status, runAtMs });
  };
  calls.schedule = async (task, payload, options) => {
    const call = ifValid(() => recordOf(task, payload, options ?? {}));
    const result = await schedule(task, payload, options);
    keep(call, result);
    return result;
  };
  calls.scheduleMany = async (tasks, options) => {
    const made = ifValid(() =>
      tasks.map((task) => recordOf('task' in task ? task.task : task.name, task.payload, task, options ?? {})),
    );
    const results = await scheduleMany(tasks, options);
    results.forEach((result, index) => keep(made?.[index], result));
    return results;
  };
}

/** Records the messages that a service publishes. */
export function recordMessages(service: StreamConsumerService, { published }: Pick<Records, 'published'>): void {
  const { publisher } = service as unknown as { publisher: PublishCalls };
  const publish = publisher.publish.bind(publisher);
  publisher.publish = async (stream, message) => {
    const call = ifValid(() => {
      const { payload, key, operationId } = message;
      return { payload: copyOf(payload), key, operationId };
    });
    const result = await publish(stream, message);
    if (result.status === 'published' && call !== undefined) {
      const { id, replayed } = result;
      published.push({ id, stream: stream.name, ...call, replayed });
    }
    return result;
  };
}
