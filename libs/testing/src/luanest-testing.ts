import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { DelayedTaskEvents, ScheduleOptions, TaskDefinition } from 'luanest/delayed-task';
import type { OnceEvents } from 'luanest/once';
import type { RateLimitEvents } from 'luanest/rate-limit';
import type { ReadRewardEvents } from 'luanest/read-reward';
import type { ScheduledLockEvents } from 'luanest/scheduled-lock';
import type { PublishOptions, StreamConsumerEvents, StreamDefinition } from 'luanest/stream-consumer';
import { nextTurn } from '../../internal/src';
import { ClockUse } from './clock/clock-use';
import { scheduleByClock } from './clock/nest-schedule';
import type { TestClock } from './clock/test-clock';
import { AppScripts } from './faults/app-scripts';
import { ArmedFaults } from './faults/faults';
import { Faults } from './faults/redis-faults';
import type { AppServices } from './harness/app-services';
import type { MessageOutcome, TaskOutcome, TickOutcome } from './harness/driver-results';
import { Drivers } from './harness/drivers';
import type { GrabbedPacket, PayoutOutcome } from './harness/packet-records';
import { recordMessages, recordTasks } from './harness/recorded-calls';
import { Records, type PublishedMessage, type ScheduledTask } from './harness/records';
import { Registries } from './harness/registries';
import type { MemoryRedis } from '../../memory-redis/src';
import type { LuanestTestingModuleOptions } from './testing.options';

/**
 * Controls the app of a test: the clock, Redis, and faults of Redis. Runs the tasks, messages and jobs of the app, and records what the app
 * does. Get it with `app.get(LuanestTesting)`; LuanestTestingModule provides it.
 *
 * Recording begins with `app.init()`. The records contain only events of this app. Some events do not show which app caused them, for
 * example if the test itself releases a lock. These events are in the records of all apps of the process.
 */
export class LuanestTesting implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  /** Simulates faults of Redis. */
  readonly faults: Faults;
  /** In-memory servers of the app's ScriptRegistries. For LuanestTestingModule only. */
  readonly registries: Registries;
  private readonly use: ClockUse;
  private readonly records = new Records();
  private readonly armed: ArmedFaults;
  private readonly drivers: Drivers;
  private readonly logger = new Logger('LuanestTesting');
  private isRunning = false;

  constructor(
    private readonly services: AppServices,
    { redis }: LuanestTestingModuleOptions,
  ) {
    this.use = new ClockUse(redis?.server.clock as TestClock | undefined);
    this.armed = new ArmedFaults(new AppScripts(services));
    this.registries = new Registries(this.use.clock, this.armed, redis);
    this.faults = new Faults(this.armed, this.registries, services);
    this.drivers = new Drivers(services, this.use.clock, this.records.packets);
  }

  /** Clock of the luanest modules, of the app's Redis, and of the jobs of `@nestjs/schedule`. It moves only when the test moves it. */
  get clock(): TestClock {
    this.scheduleJobs();
    return this.use.clock;
  }

  /** In-memory Redis of the ScriptRegistry without a name: the option `redis`, or a new MemoryRedis. */
  get redis(): MemoryRedis {
    return this.redisOf();
  }

  /**
   * Returns the in-memory Redis of a ScriptRegistry. Each ScriptRegistry has its own Redis, unless the option `redis` is set.
   *
   * @param registry name of the ScriptRegistry, as in `forRoot({ name })`; for an unknown name, the result is an empty Redis. Default: the
   *   ScriptRegistry without a name
   */
  redisOf(registry?: string): MemoryRedis {
    return this.registries.serverOf(registry);
  }

  /** Records since `clear()`. `scheduled`: tasks that the app has scheduled. `settled`: attempts of tasks that have ended. */
  get tasks(): {
    readonly scheduled: readonly ScheduledTask[];
    readonly settled: readonly DelayedTaskEvents['attemptSettled'][];
  } {
    return this.records;
  }

  /**
   * Records since `clear()`. `published`: messages that the app has published. `retried`: messages whose attempt failed and is repeated.
   * `deadLettered`: messages that became dead letters.
   */
  get streams(): {
    readonly published: readonly PublishedMessage[];
    readonly retried: readonly StreamConsumerEvents['messageRetried'][];
    readonly deadLettered: readonly StreamConsumerEvents['messageDeadLettered'][];
  } {
    return this.records;
  }

  /** Requests that the rate limiter refused since `clear()`. */
  get limits(): { readonly refused: readonly RateLimitEvents['requestRefused'][] } {
    return this.records;
  }

  /** Names of the locks that LockService has acquired and that are neither released nor lost, the oldest first. */
  get locks(): { readonly held: readonly string[] } {
    return { held: this.records.heldLocks };
  }

  /** Statuses that Redis returned when OnceModule claimed an id, since `clear()`. */
  get once(): { readonly claims: readonly OnceEvents['claimAnswered']['status'][] } {
    return this.records;
  }

  /** Calls of `ReadRewardService.record` that have returned, since `clear()`. */
  get rewards(): { readonly recorded: readonly ReadRewardEvents['readRecorded'][] } {
    return { recorded: this.records.rewards };
  }

  /** Outcomes of jobs and handlers with `@ScheduledLock`, since `clear()`. They include runs that were skipped. */
  get jobs(): { readonly ended: readonly ScheduledLockEvents['tickEnded'][] } {
    return { ended: this.records.jobs };
  }

  /** Calls of `grab` of red packets with their results, and attempts to pay winners, since `clear()`. */
  get packets(): { readonly grabbed: readonly GrabbedPacket[]; readonly payouts: readonly PayoutOutcome[] } {
    return this.records.packets;
  }

  /**
   * Empties all records except `locks.held`. Drops the faults of `faults.nextCall` that have not happened, and logs a warning for each.
   * Keys in Redis stay; restore a snapshot of `redis` to reset them. `faults.redisDown()` stays in force.
   */
  clear(): void {
    this.records.clear();
    this.dropFaults();
  }

  /**
   * Schedules a task that is due now, and waits until the worker of the app has ended one attempt of the task.
   *
   * @param task name of the task, or its definition
   * @param payload JSON data
   * @param options `id`, `attempts`, `backoff` and `onConflict`, as for `schedule`
   * @throws SetupError if the app does not run such tasks, or if a task with this `id` exists already; the errors of `schedule`
   */
  runTask<Payload>(
    task: string | TaskDefinition<Payload>,
    payload?: NoInfer<Payload>,
    options: Omit<ScheduleOptions, 'delayMs' | 'runAtMs' | 'keepResultMs'> = {},
  ): Promise<TaskOutcome> {
    return this.drivers.runTask(task, payload, options);
  }

  /**
   * Publishes a message, and waits until the consumers of the app have handled the message once in each group of the app.
   *
   * @param stream name of the stream, or its definition
   * @param payload JSON data
   * @param options `key` and `operationId`, as for `publish`
   * @returns one outcome for each group of the app that reads the stream
   * @throws SetupError if the app does not read the stream, or if the message was not added to the stream; the errors of `publish`
   */
  deliver<Message>(
    stream: string | StreamDefinition<Message>,
    payload: NoInfer<Message>,
    options?: PublishOptions,
  ): Promise<MessageOutcome[]> {
    return this.drivers.deliver(stream as string, payload, options);
  }

  /**
   * Runs a scheduled job now, under its lock, as `ScheduledLockService.runNow` does.
   *
   * @param job the option `name` of the job; without that option `Class.method`
   * @throws SetupError if the app has no such job, if the name is the name of a handler, or if the app has no ScheduledLockService
   */
  tick(job: string): Promise<TickOutcome> {
    return this.drivers.tick(job);
  }

  /**
   * Pays the winners of a red packet. Waits until the app has made one attempt for each payout that is due and not paid yet.
   *
   * @returns one outcome for each attempt
   * @throws SetupError if the app does not run payouts, or if some of these payouts have had no attempt after 5 s of real time
   */
  payOut(activityId: string): Promise<PayoutOutcome[]> {
    return this.drivers.payOut(activityId);
  }

  /**
   * Waits until the app has run all tasks, handled all messages and paid all winners that are due by the clock. Also waits for new work
   * that this work causes. Tasks close red packets that have ended, so these are closed too. Does not wait for work that is due later:
   * advance the clock first. Does not wait for tasks if the app runs no tasks (`work: false`).
   *
   * @throws SetupError if there is still work after 5 s of real time
   */
  drain(): Promise<void> {
    return this.drivers.drain();
  }

  /** Begins to record events and calls of the services. Nest calls this method. */
  onModuleInit(): void {
    this.isRunning = true;
    this.use.begin();
    const registries = new Set<object>(this.services.registries);
    this.records.start((registry) => registries.has(registry));
    const tasks = this.services.find('DelayedTask');
    if (tasks) recordTasks(tasks, this.records);
    const streams = this.services.find('StreamConsumer');
    if (streams) recordMessages(streams, this.records);
    const packets = this.services.find('RedPacket');
    if (packets) this.records.packets.watch(packets, this.services.find('RedPacketPayouts'));
  }

  /** Makes the jobs of `@nestjs/schedule` run by the test clock. Nest calls this method. */
  onApplicationBootstrap(): void {
    this.use.run();
    // ScheduleModule may create its timers after this hook, in the same turn of the event loop.
    nextTurn(() => this.scheduleJobs());
  }

  /** Stops recording, and uninstalls the clock if no other open app uses it. Nest calls this method. */
  onApplicationShutdown(): void {
    this.isRunning = false;
    this.records.stop();
    this.dropFaults();
    this.use.end();
  }

  private dropFaults(): void {
    for (const call of this.armed.takeLeft()) {
      this.logger.warn(
        `faults.${call} did not happen, because no such call was sent to Redis after it. Calls that are sent together use up one fault. ` +
          'If the test expects no call, call faults.clear().',
      );
    }
  }

  private scheduleJobs(): void {
    const { modules } = this.services;
    if (this.isRunning) scheduleByClock({ get: () => modules } as never);
  }
}
