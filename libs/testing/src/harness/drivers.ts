import type { DelayedTaskEvents, ScheduleOptions, TaskDefinition } from 'luanest/delayed-task';
import type { ScheduledLockEvents } from 'luanest/scheduled-lock';
import type {
  PublishOptions,
  StreamConsumerEvents,
  StreamConsumerService,
  StreamDefinition,
} from 'luanest/stream-consumer';
import type { TestClock } from '../clock/test-clock';
import { INSPECT, SetupError } from '../../../internal/src';
import type { AppServices } from './app-services';
import type { MessageOutcome, TaskOutcome, TickOutcome } from './driver-results';
import { EventWait } from './event-wait';
import type { PacketRecords, PayoutOutcome } from './packet-records';

/** How long Redis keeps the result of a task, ms, so that `runTask` can read the result. */
const KEEP_RESULT_MS = 60_000;
/** `drain` waits at most this long for handlers, ms of real time. */
const DRAIN_MS = 5_000;

const nameOf = (given: string | { readonly name: string }): string => (typeof given === 'string' ? given : given.name);

/** Makes the app do work now, with the code that also runs in production. */
export class Drivers {
  private lastId = 0;

  constructor(
    private readonly services: AppServices,
    private readonly clock: TestClock,
    private readonly packets: Pick<PacketRecords, 'payouts'>,
  ) {}

  async runTask(
    task: string | TaskDefinition,
    payload: unknown,
    options: Omit<ScheduleOptions, 'delayMs' | 'runAtMs' | 'keepResultMs'>,
  ): Promise<TaskOutcome> {
    const name = nameOf(task);
    const service = this.services.get('DelayedTask', 'runTask()');
    const tasks = service[INSPECT]();
    if (!tasks.working || !tasks.handles(name)) {
      throw new SetupError(
        `runTask(): The app does not run tasks named ${name}. Add a handler with @DelayedTask(), call app.init(), and do not set work: false.`,
        { code: 'TESTING_SETUP' },
      );
    }
    const id = options.id ?? `luanest-testing:${++this.lastId}`;
    const wait = new EventWait<DelayedTaskEvents['attemptSettled']>().on<DelayedTaskEvents['attemptSettled']>(
      'luanest:delayed-task:attempt.settled',
      (event) => (event.id === id && event.name === name ? event : undefined),
    );
    try {
      const given = { ...options, id, keepResultMs: KEEP_RESULT_MS };
      const scheduled = await service.schedule(task as string, payload, given);
      if (scheduled.status === 'kept')
        throw new SetupError(
          `runTask(): A task with the id ${id} exists already, so no task was run. Use another id.`,
          {
            code: 'TESTING_SETUP',
          },
        );
      const { status, error } = await wait.result;
      const queue = options.queue ?? (typeof task === 'string' ? undefined : task.queue);
      const view = await (queue === undefined ? service : service.queue(queue)).get(id);
      const delayMs = status === 'retried' && view ? Math.max(0, view.atMs - this.clock.nowMs) : undefined;
      return { id, status, result: view?.result, error, reason: view?.error ?? '', delayMs };
    } finally {
      wait.end();
    }
  }

  async deliver(
    stream: string | StreamDefinition,
    payload: unknown,
    options: PublishOptions | undefined,
  ): Promise<MessageOutcome[]> {
    const name = nameOf(stream);
    const service = this.services.get('StreamConsumer', 'deliver()');
    const groups = groupsOf(service).filter((each) => each.stream === name);
    if (groups.length === 0) {
      throw new SetupError(
        `deliver(): No consumer of the app reads stream ${name}. Add a handler with @StreamConsumer(), and call app.init().`,
        { code: 'TESTING_SETUP' },
      );
    }
    /** Results for this stream by `<group>/<id>`. A result may come before `publish` has returned the id of the message. */
    const outcomes = new Map<string, MessageOutcome>();
    let id: string | undefined;
    const all = (): MessageOutcome[] | undefined => {
      const found = groups.flatMap(({ group }) => outcomes.get(`${group}/${id}`) ?? []);
      return id !== undefined && found.length === groups.length ? found : undefined;
    };
    const seen = (
      from: { stream: string; group: string },
      ids: readonly string[],
      outcome: Partial<MessageOutcome>,
    ) => {
      if (from.stream !== name) return undefined;
      const { group } = from;
      const rest = { error: undefined, reason: '', delayMs: undefined };
      for (const each of ids) outcomes.set(`${group}/${each}`, { group, status: 'handled', ...rest, ...outcome });
      return all();
    };
    const wait = new EventWait<MessageOutcome[]>()
      .on<StreamConsumerEvents['messagesHandled']>('luanest:stream-consumer:messages.handled', (event) =>
        seen(event, event.ids, {}),
      )
      .on<StreamConsumerEvents['messageRetried']>('luanest:stream-consumer:message.retried', (event) =>
        seen(event, [event.id], { status: 'retried', error: event.error, delayMs: event.delayMs }),
      )
      .on<StreamConsumerEvents['messageDeadLettered']>('luanest:stream-consumer:message.dead-lettered', (event) =>
        seen(event, [event.id], { status: 'dead', error: event.error, reason: event.reason }),
      )
      .on<StreamConsumerEvents['messagesLost']>('luanest:stream-consumer:messages.lost', (event) =>
        seen(event, event.ids, { status: 'lost', reason: event.reason }),
      );
    try {
      const result = await service.publish(stream, payload, options);
      if (result.status === 'full')
        throw new SetupError(
          `deliver(): Stream ${name} is full, so nothing was sent. Let the app handle the messages of the stream first, or raise its maxLength.`,
          { code: 'TESTING_SETUP' },
        );
      if (result.replayed)
        throw new SetupError(
          'deliver(): A message with this operationId was published before, so nothing was sent. Use another operationId.',
          {
            code: 'TESTING_SETUP',
          },
        );
      id = result.id;
      const found = all() ?? (await wait.result);
      // A retry or a dead letter is published as an event before Redis has stored it, so wait for Redis here.
      await this.clock.settle();
      return found;
    } finally {
      wait.end();
    }
  }

  async tick(job: string): Promise<TickOutcome> {
    const service = this.services.get('ScheduledLock', 'tick()');
    let ended = 0;
    const wait = new EventWait().on<ScheduledLockEvents['tickEnded']>('luanest:scheduled-lock:tick.ended', (event) => {
      if (event.name === job) ended += 1;
    });
    try {
      const result = await service.runNow(job);
      return { status: result.status, value: result.ran ? result.value : undefined, error: undefined };
    } catch (error) {
      // The run has not begun, because the app has no such job.
      if (ended === 0 && (error as { code?: unknown } | null)?.code === 'SETUP') throw error;
      return { status: 'failed', value: undefined, error };
    } finally {
      wait.end();
    }
  }

  async payOut(activityId: string): Promise<PayoutOutcome[]> {
    const service = this.services.get('RedPacketPayouts', 'payOut()');
    if (!service[INSPECT]().paying) {
      throw new SetupError(
        'payOut(): The app does not pay winners. Call RedPacketPayouts.run() with a handler first.',
        {
          code: 'TESTING_SETUP',
        },
      );
    }
    const before = new Set(this.packets.payouts);
    await this.until('payOut()', () => this.payoutsLeft(activityId));
    return this.packets.payouts.filter((payout) => payout.activityId === activityId && !before.has(payout));
  }

  async drain(): Promise<void> {
    await this.until('drain()', async () => [
      ...(await this.tasksLeft()),
      ...(await this.messagesLeft()),
      ...(await this.payoutsLeft()),
    ]);
  }

  /** Waits until no work is left. @param workLeft returns a text for each kind of work that is left */
  private async until(caller: string, workLeft: () => Promise<string[]>): Promise<void> {
    const until = performance.now() + DRAIN_MS;
    for (;;) {
      await this.clock.settle();
      const left = await workLeft();
      if (left.length === 0) return;
      if (performance.now() > until) {
        throw new SetupError(
          `${caller}: There is still work after ${DRAIN_MS} ms: ${left.join('; ')}. Check that the app has handlers for it, and that they end.`,
          {
            code: 'TESTING_SETUP',
          },
        );
      }
    }
  }

  /** Makes the app read the open payouts. @param activityId default: all activities @returns a text if payouts are left */
  private async payoutsLeft(activityId?: string): Promise<string[]> {
    const payouts = this.services.find('RedPacketPayouts');
    if (payouts === undefined) return [];
    const { paying, readNow } = payouts[INSPECT]();
    if (!paying) return [];
    if (activityId !== undefined && ((await payouts.stats(activityId))?.open ?? 0) === 0) return [];
    const { length, due } = await payouts.outboxStats();
    // `due` counts the retries that wait for a later time. They run only when the test advances the clock.
    const left = length - due;
    if (left > 0) readNow();
    return left === 0 ? [] : [`${left} payouts are open`];
  }

  private async tasksLeft(): Promise<string[]> {
    const service = this.services.find('DelayedTask');
    if (!service || !service[INSPECT]().working) return [];
    const { overdue, running } = await service.stats();
    return overdue + running === 0 ? [] : [`${overdue} tasks are due and ${running} are running`];
  }

  private async messagesLeft(): Promise<string[]> {
    const service = this.services.find('StreamConsumer');
    if (!service) return [];
    const left = await Promise.all(
      groupsOf(service).map(async ({ stream, group }) => {
        const { lag, pending, due, parked } = await service.stats(stream, group);
        // Retries (`due`) wait until the test advances the clock, and so do messages that wait for an earlier one (`parked`).
        const inHandlers = pending - due - parked;
        return lag + inHandlers === 0
          ? []
          : [`stream ${stream}, group ${group} has ${lag} unread and ${inHandlers} running messages`];
      }),
    );
    return left.flat();
  }
}

/** Returns the groups for which the app reads streams, without duplicates. */
function groupsOf(service: StreamConsumerService): readonly { readonly stream: string; readonly group: string }[] {
  const { groups } = service[INSPECT]();
  return [...new Map(groups.map((each) => [`${each.stream}/${each.group}`, each])).values()];
}
