import type { ScriptRegistry } from 'luanest/script-registry';
import { endsWithin, INSPECT, LeaseBook, MAX_TIMER_MS, nextTurn, Steps, time, type Timer } from '../../../internal/src';
import { Calls, WorkLog } from '../../../worker/src';
import { events } from '../stream-consumer.events';
import type { ResolvedConsumerOptions, ResolvedStreamConsumerModuleOptions } from '../stream-consumer.options';
import type { StreamConsumerHandle, StreamStats } from '../stream-consumer.types';
import { statsOf } from '../streams/groups';
import type { Stream } from '../streams/stream-catalog';
import { inBatches, type InvokeBatch } from './batches';
import { HandlerRunner, type Delivery, type Invoke } from './handler-runner';
import { Maintenance } from './maintenance';
import { Reader } from './reader';
import type { Session, Step } from './session';

/** Maximum number of messages that one call takes. A larger number would block Redis for too long. */
const MAX_TAKE = 128;
/** When a consumer stops, it waits at most this long for the calls that end its leases, ms. */
const LAST_MS = 2_000;

/**
 * Calls one handler with the messages of a stream, for one group. A Reader per partition fetches the messages, and keeps other processes
 * from taking them.
 */
export class Consumer implements StreamConsumerHandle {
  readonly calls: Calls<Step>;
  readonly leases: LeaseBook<Session>;
  private readonly readers: Reader[] = [];
  private readonly runner: HandlerRunner;
  private readonly maintenance: Maintenance;
  private readonly takes = new Set<Promise<void>>();
  /** Number of the round over all partitions. Each round begins with another partition, so that none is preferred. */
  private rounds = 0;
  private scheduled = false;
  /** True if the group was paused when this was last checked. The consumer then takes no messages. */
  private paused = false;
  private started = false;
  /**
   * True once Redis has the group on all partitions that existed when this consumer started. A partition that is added after that is read
   * from its first message, even with `from: 'end'`: all its messages are newer than the group.
   */
  private opened = false;
  private takeTimer: Timer | undefined;
  private stopped: Promise<void> | undefined;
  ended = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly source: Stream,
    readonly options: ResolvedConsumerOptions,
    module: ResolvedStreamConsumerModuleOptions,
    handler: Invoke | InvokeBatch,
  ) {
    const { stream, group, batch } = options;
    const invoke = batch > 0 ? inBatches(batch, handler as InvokeBatch) : (handler as Invoke);
    const log = new WorkLog('StreamConsumer', `Stream ${stream}, group ${group}`, ['MALFORMED_PAYLOAD']);
    this.calls = new Calls((during, error) => {
      events.callFailed.publish(() => ({ stream, group, during, error }));
      log.callFailed(during, error);
    });
    this.leases = new LeaseBook<Session>({
      renew: async ([session], deadlineMs) => {
        const one = session as Session;
        return (await one.owner.renew(one, deadlineMs)) ? [] : [one];
      },
      renewalFailed: (_session, error) => this.calls.reportError('renew', error),
    });
    this.runner = new HandlerRunner(options, module, invoke, log, () => this.changed(), registry);
    this.maintenance = new Maintenance(registry, source, this, module, this.calls.reportError);
  }

  get stream(): string {
    return this.options.stream;
  }

  get group(): string {
    return this.options.group;
  }

  get running(): number {
    return this.runner.attempts.running;
  }

  get partitions(): readonly Reader[] {
    return this.readers;
  }

  /**
   * Returns `readNow` for other libs of luanest. It makes the consumer read at once, instead of at its next wake-up: one partition, or all
   * without an index.
   */
  [INSPECT](): { readNow(partition?: number): void } {
    return {
      readNow: (partition) => {
        for (const { wakeup, partition: own } of this.readers) {
          if (partition === undefined || own.index === partition) wakeup.ring();
        }
      },
    };
  }

  stats(): Promise<StreamStats> {
    return statsOf(this.registry, this.source, this.group);
  }

  /**
   * Asks Redis for the partitions of the stream, and if the group is paused. Starts to read new partitions, and creates the group there.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async openPartitions(): Promise<void> {
    const steps = new Steps('StreamConsumerService.handle', 'Repeat the call, or remove the group with removeGroup().');
    const { from } = this.options;
    const atEnd = from === 'end' && !this.opened;
    const { partitions, ends } = await steps.one(this.source.join(this.group, this.paused, atEnd));
    this.paused = this.source.isPaused(this.group);
    for (const partition of partitions.slice(this.readers.length)) {
      const begins = from === 'end' && partition.index >= ends ? 'start' : from;
      const reader = new Reader(this.registry, this.source, partition, this.options, this, begins);
      await steps.one(reader.open());
      if (this.readers.length === partition.index) this.readers.push(reader);
    }
    if (atEnd && !this.source.isForeign) await steps.one(this.source.join(this.group, this.paused));
    this.opened = true;
    this.changed();
  }

  start(): void {
    if (this.calls.closing || this.started) return;
    this.started = true;
    this.maintenance.start();
    this.changed();
  }

  stop(): Promise<void> {
    this.stopped ??= this.end();
    return this.stopped;
  }

  forget(delivery: Delivery): void {
    this.runner.attempts.forget(delivery);
  }

  /**
   * Acknowledges handled messages and takes new ones, at the end of this turn of the event loop. Called when a handler has ended, or when
   * there may be new messages.
   */
  changed(): void {
    if (this.scheduled || !this.started) return;
    this.scheduled = true;
    nextTurn(() => {
      this.scheduled = false;
      for (const { settler } of this.readers) settler.flush();
      if (!this.calls.closing) this.takeAll();
    });
  }

  /** Takes messages for all free handler slots, in equal shares from the partitions that may have messages. */
  private takeAll(): void {
    time.clearTimer(this.takeTimer);
    this.takeTimer = undefined;
    let { free } = this.runner.attempts.capacity;
    if (free <= 0 || this.paused) return;
    const now = time.monotonicMs();
    let next = Infinity;
    const ready: Reader[] = [];
    for (let i = 0; i < this.readers.length; i++) {
      const reader = this.readers[(this.rounds + i) % this.readers.length] as Reader;
      if (reader.busy || reader.settler.behind) continue;
      if (reader.wakeup.at <= now) ready.push(reader);
      else next = Math.min(next, reader.wakeup.at);
    }
    this.rounds += 1;
    for (let left = ready.length; left > 0 && free > 0; left--) {
      const count = Math.min(MAX_TAKE, Math.ceil(free / left));
      free -= count;
      const taking = this.take(ready[ready.length - left] as Reader, count).finally(() => this.takes.delete(taking));
      this.takes.add(taking);
    }
    if (next === Infinity) return;
    this.takeTimer = time.setTimer(() => this.changed(), Math.min(MAX_TIMER_MS, Math.max(1, Math.ceil(next - now))));
  }

  private async take(reader: Reader, count: number): Promise<void> {
    const { runner, calls } = this;
    const { capacity } = runner.attempts;
    capacity.grab(count);
    const deliveries = await reader.take(count, () => calls.closing);
    capacity.release(count - deliveries.length);
    for (const delivery of deliveries) {
      if (calls.closing && !delivery.session.over) runner.putBack(delivery);
      else runner.start(delivery);
    }
    this.changed();
  }

  private async end(): Promise<void> {
    const { calls, runner, leases, readers } = this;
    calls.closing = true;
    time.clearTimer(this.takeTimer);
    this.maintenance.stop();
    for (const { wakeup } of readers) wakeup.close();
    const taking = this.untilTaken();
    await runner.attempts.drain(taking, calls, (left) =>
      Promise.all(left.map((delivery) => runner.handBack(delivery))),
    );
    await endsWithin(LAST_MS, Promise.allSettled(readers.map((reader) => reader.leave())));
    calls.stop();
    leases.clear();
    this.started = false;
    this.ended = true;
  }

  private async untilTaken(): Promise<void> {
    while (this.takes.size > 0) await Promise.allSettled(this.takes);
  }
}
