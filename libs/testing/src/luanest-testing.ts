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
 * Controls the app of a test: its clock, its Redis and faults of Redis. Runs its tasks, messages and jobs, and records what it
 * does. Get it with `app.get(LuanestTesting)`; LuanestTestingModule provides it.
 *
 * Records begin with `app.init()`, and are of this app only. An event that no app has caused, for example because the test itself
 * releases a lock, is in the records of all apps of the process.
 */
export class LuanestTesting implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  /** Faults of Redis that happen when the test asks for them. */
  readonly faults: Faults;
  /** Connects the ScriptRegistries of the app to in-memory servers. LuanestTestingModule uses it. */
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

  /** Clock of the luanest modules, the app's Redis and jobs of `@nestjs/schedule`. It moves only when the test moves it. */
  get clock(): TestClock {
    this.scheduleJobs();
    return this.use.clock;
  }

  /** Redis of the ScriptRegistry without a name: that of the option `redis`, or a new one. */
  get redis(): MemoryRedis {
    return this.redisOf();
  }

  /**
   * Returns the Redis of a ScriptRegistry. Each has its own, unless the option `redis` is set.
   *
   * @param registry name as given to `forRoot`; a name that the app does not use gets an empty Redis. Default: the one without a name
   */
  redisOf(registry?: string): MemoryRedis {
    return this.registries.serverOf(registry);
  }

  /** Tasks for which a call to schedule them returned, and attempts that ended, since `clear()`. */
  get tasks(): {
    readonly scheduled: readonly ScheduledTask[];
    readonly settled: readonly DelayedTaskEvents['attemptSettled'][];
  } {
    return this.records;
  }

  /** Messages for which a call to publish them returned, those that were retried, and new dead letters, since `clear()`. */
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

  /** Statuses of the claims of ids to which Redis replied, since `clear()`. */
  get once(): { readonly claims: readonly OnceEvents['claimAnswered']['status'][] } {
    return this.records;
  }

  /** Calls of `record` of read rewards that returned, since `clear()`. */
  get rewards(): { readonly recorded: readonly ReadRewardEvents['readRecorded'][] } {
    return { recorded: this.records.rewards };
  }

  /** Ticks, catch-ups and runs by hand of jobs, and calls of locked handlers, that ended or did not run, since `clear()`. */
  get jobs(): { readonly ended: readonly ScheduledLockEvents['tickEnded'][] } {
    return { ended: this.records.jobs };
  }

  /** Grabs of red packets, with what they returned, and attempts to pay winners, since `clear()`. */
  get packets(): { readonly grabbed: readonly GrabbedPacket[]; readonly payouts: readonly PayoutOutcome[] } {
    return this.records.packets;
  }

  /**
   * Empties all records except `locks.held`, and drops the faults of `nextCall` that have not happened, with a warning for each. Keys
   * stay; restore a snapshot of `redis` to reset them. Redis stays unavailable after `faults.redisDown()`.
   */
  clear(): void {
    this.records.clear();
    this.dropFaults();
  }

  /**
   * Schedules a task that is due now, and waits until one attempt has ended. The worker of the app runs it.
   *
   * @param task name of the task, or its definition
   * @param payload JSON data
   * @param options `id`, `attempts`, `backoff` and `onConflict`, as for `schedule`
   * @throws SetupError if the app does not run such tasks, or a task with the id was kept; the errors of `schedule`
   */
  runTask<Payload>(
    task: string | TaskDefinition<Payload>,
    payload?: NoInfer<Payload>,
    options: Omit<ScheduleOptions, 'delayMs' | 'runAtMs' | 'keepResultMs'> = {},
  ): Promise<TaskOutcome> {
    return this.drivers.runTask(task, payload, options);
  }

  /**
   * Publishes a message, and waits until each group of the app has ended one attempt. The consumers of the app handle it.
   *
   * @param stream name of the stream, or its definition
   * @param payload JSON data
   * @param options `key` and `operationId`, as for `publish`
   * @returns one outcome for each group of the app that reads the stream
   * @throws SetupError if the app does not read the stream, or the message was not added; the errors of `publish`
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
   * @throws SetupError if the app has no such job, or it is a handler, and without ScheduledLockService
   */
  tick(job: string): Promise<TickOutcome> {
    return this.drivers.tick(job);
  }

  /**
   * Pays the winners of a red packet: waits until the payout run of the app has made one attempt for each open payout that is due.
   *
   * @returns one outcome for each attempt
   * @throws SetupError if the app has no payout run, or payouts are still open after 5 s of real time
   */
  payOut(activityId: string): Promise<PayoutOutcome[]> {
    return this.drivers.payOut(activityId);
  }

  /**
   * Waits until the app has run all tasks, handled all messages and paid all winners that are due by the clock, and those that they
   * cause. Red packets that have ended are closed, since tasks do that. What is due later stays: advance the clock first. If the app
   * runs no tasks (`work: false`), it does not wait for them.
   *
   * @throws SetupError if there is still work after 5 s of real time
   */
  drain(): Promise<void> {
    return this.drivers.drain();
  }

  /** Begins to record events and calls of the services. Nest calls it. */
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

  /** Lets the test clock run the jobs of `@nestjs/schedule`. Nest calls it. */
  onApplicationBootstrap(): void {
    this.use.run();
    // ScheduleModule may make its timers after this.
    nextTurn(() => this.scheduleJobs());
  }

  /** Ends the records, and the clock if no other open app uses it. Nest calls it. */
  onApplicationShutdown(): void {
    this.isRunning = false;
    this.records.stop();
    this.dropFaults();
    this.use.end();
  }

  private dropFaults(): void {
    for (const call of this.armed.takeLeft()) {
      this.logger.warn(
        `faults.${call} did not happen: no further such call was sent to Redis. Calls that are sent together use up one fault. ` +
          'If the test expects no call, call faults.clear().',
      );
    }
  }

  private scheduleJobs(): void {
    const { modules } = this.services;
    if (this.isRunning) scheduleByClock({ get: () => modules } as never);
  }
}
