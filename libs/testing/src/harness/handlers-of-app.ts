import type { DelayedTaskService } from 'luanest/delayed-task';
import type { StreamConsumerService } from 'luanest/stream-consumer';

/** Private parts of the services that know the handlers of this process. */
interface TaskParts {
  readonly worker: { readonly running: boolean };
  readonly handlers: { of(name: string): unknown };
}
interface StreamParts {
  readonly consumers: { groups(): readonly ConsumedGroup[] };
}

export interface ConsumedGroup {
  readonly stream: string;
  readonly group: string;
}

/** Returns true if the app takes tasks. */
export function takesTasks(service: DelayedTaskService): boolean {
  return (service as unknown as TaskParts).worker.running;
}

/** Returns true if the app takes tasks and has a handler for those of a name. */
export function runsTasksOf(service: DelayedTaskService, name: string): boolean {
  return takesTasks(service) && (service as unknown as TaskParts).handlers.of(name) !== undefined;
}

/** Returns the groups that consumers of the app read, each once. */
export function groupsOf(service: StreamConsumerService): readonly ConsumedGroup[] {
  const all = (service as unknown as StreamParts).consumers.groups();
  return [...new Map(all.map((each) => [`${each.stream}/${each.group}`, each])).values()];
}
