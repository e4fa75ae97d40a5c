import { type Logger } from '@nestjs/common';
import { ScriptFailedError, type ScriptRegistry } from 'luanest/script-registry';
import { SetupError, thrownText } from '../../../internal/src';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { ScheduleWatcher, TaskDefinition, TaskHandler } from '../delayed-task.types';
import { type QueueHandlers, Worker } from '../worker/worker';
import { DeadLetters } from './dead-letters';
import { Schedules } from './schedules';
import { TaskPages } from './task-pages';
import { TaskQueue } from './task-queue';

/** All objects of one queue in this process. */
export class QueueParts {
  readonly tasks: TaskQueue;
  readonly pages: TaskPages;
  readonly schedules: Schedules;
  readonly dead: DeadLetters;
  readonly worker: Worker;
  watcher: ScheduleWatcher | undefined;
  private booted = false;
  private asked = false;

  constructor(
    registry: ScriptRegistry,
    readonly options: ResolvedDelayedTaskOptions,
    readonly handlers: QueueHandlers,
  ) {
    this.tasks = new TaskQueue(registry, options);
    this.pages = new TaskPages(this.tasks);
    this.schedules = new Schedules(this.tasks, this.pages);
    this.dead = new DeadLetters(this.tasks, this.pages);
    this.worker = new Worker(this.tasks, handlers, options);
  }

  handle(task: TaskDefinition, handler: TaskHandler): void {
    this.handlers.add(task, handler);
    if (this.booted) this.start();
  }

  /**
   * Checks that this app and the queue in Redis have the same number of partitions. Logs a warning if Redis does not reply. @throws
   * SetupError if the numbers differ
   */
  async checkPartitions(logger: Logger): Promise<void> {
    const { namespace: queue, partitions } = this.options;
    let noted: number;
    try {
      noted = await this.tasks.notedPartitions();
    } catch (error) {
      logger.warn(
        `Queue ${queue}: Redis did not reply, so the option partitions (${partitions}) was not compared with the number in Redis. The app ` +
          `boots. If the queue was created with another number, this app does not find all tasks. Start Redis, then restart the app ` +
          `to check this. ${thrownText(error)}`,
      );
      return;
    }
    if (noted === partitions) return;
    throw new SetupError(
      `DelayedTaskModule: partitions is ${partitions}, but queue ${queue} was created with ${noted} partitions in Redis, so this app ` +
        `would not find all tasks. Set partitions to ${noted}, use another name for the queue, or empty this queue and delete the key ` +
        `${this.tasks.partitions.layout}.`,
    );
  }

  /**
   * Checks at boot that Redis allows this app to publish events, if the option `broadcastEvents` is set. @throws SetupError if Redis does
   * not allow it
   */
  async checkBroadcast(logger: Logger): Promise<void> {
    try {
      await this.worker.broadcaster?.check();
    } catch (cause) {
      const problem = `broadcastEvents of queue ${this.options.namespace}`;
      if (!(cause instanceof ScriptFailedError)) {
        return logger.warn(
          `${problem} was not checked, because Redis did not reply. The app boots. If the Redis user may not use SPUBLISH, events do not ` +
            `reach other processes. ${thrownText(cause)}`,
        );
      }
      throw new SetupError(
        `DelayedTaskModule: ${problem} does not work: ${cause.message} Give the Redis user the permissions, or leave broadcastEvents out.`,
        { cause },
      );
    }
  }

  /** Starts to run tasks when the app has started, if the option `work` allows it. */
  boot(): void {
    this.booted = true;
    this.start();
  }

  /** Starts to run tasks in this process, even if the option `work` is false. Before the app has started, the tasks wait for that start. */
  startWork(): void {
    this.asked = true;
    if (this.booted) this.start();
  }

  private start(): void {
    if (this.asked || (this.options.work ?? !this.handlers.empty)) this.worker.start();
  }
}
