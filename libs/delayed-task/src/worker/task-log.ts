import { oneLine, shown, thrownText } from '../../../internal/src';
import { WorkLog } from '../../../worker/src';

/** The same problem with tasks of one name is logged again after this time at the earliest, ms. */
const AGAIN_MS = 3_600_000;
/** The same problem with events is logged again after this time at the earliest, ms. */
const EVENTS_AGAIN_MS = 30_000;

interface NamedTask {
  readonly name: string;
  readonly id: string;
}

export class TaskLog extends WorkLog {
  constructor(queue: string) {
    super('DelayedTask', `Queue ${queue}`, ['TASK_TOO_LARGE']);
  }

  /** Logs that this process has no handler for the tasks of a name, at most once an hour per name. */
  unknown(name: string): void {
    if (!this.isNews(`unknown ${name}`, AGAIN_MS)) return;
    this.logger.warn(
      `${this.where}: this process has no handler for tasks named ${shown(name)}, so it leaves them to other processes. A task for ` +
        `which no process has a handler for a day is dead-lettered. If this process should have the handler, add the class with ` +
        `@DelayedTask(${shown(name)}) to the providers of a module.`,
    );
  }

  /**
   * Logs that a task became a dead letter because no worker had a handler for it. The line has no attempt number, because such attempts do
   * not count.
   */
  deadUnknown(task: NamedTask): void {
    this.logger.error(
      `${this.where}: ${named(task)} is a dead letter, because for a day no worker that took it had a handler for its name. Add the ` +
        'handler to a worker, then replay the dead letter.',
    );
  }

  /** Logs that events could not be sent to other processes, at most once in 30 s. */
  broadcastFailed(error: unknown): void {
    if (!this.isNews('broadcast', EVENTS_AGAIN_MS)) return;
    this.logger.warn(
      `${this.where}: A call to Redis failed, so events of tasks did not reach the listeners of other processes (onEvents), and are not sent again. ${thrownText(error)}`,
    );
  }

  /** Logs that a listener of `onEvents` threw an error, at most once in 30 s. */
  listenerFailed(error: unknown): void {
    if (!this.isNews('listener', EVENTS_AGAIN_MS)) return;
    this.logger.error(
      `${this.where}: a listener of onEvents threw an error: ${this.kindOf(error)}. It still gets the next events. Handle errors in the listener.`,
    );
  }

  /** Logs that the result of a task cannot be stored, at most once an hour per name. */
  resultLost(task: NamedTask, error: unknown): void {
    if (!this.isNews(`result ${task.name}`, AGAIN_MS)) return;
    this.logger.warn(
      `${this.where}: the result of ${named(task)} was not stored: ${this.kindOf(error)}. The task counts as done. ` +
        'Return plain data of at most maxPayloadBytes, or set keepResultMs to 0 for such tasks.',
    );
  }
}

/** Returns the name and the id of a task for a log line. The id is not shortened, so that people can search for it. */
export function named({ name, id }: NamedTask): string {
  return `task ${shown(name)} (id ${oneLine(JSON.stringify(id))})`;
}
