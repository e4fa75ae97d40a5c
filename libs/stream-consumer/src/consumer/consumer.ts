import type { ScriptRegistry } from 'luanest/script-registry';
import { endsWithin, reachedWithin, Steps, time, type Timer, nextTurn } from '../../../internal/src';
import type { ResolvedConsumerOptions, ResolvedStreamConsumerModuleOptions } from '../stream-consumer.options';
import type { StreamConsumerHandle, StreamStats } from '../stream-consumer.types';
import { statsOf } from '../streams/stats';
import type { Stream } from '../streams/stream-catalog';
import { HandlerRunner, type Invoke } from './handler-runner';
import { Maintenance } from './maintenance';
import { Reader } from './reader';

/** Most entries that one call returns, so that the script does not block Redis for long. */
const MAX_TAKE = 128;
/** How long a stop waits for the calls in flight, and after that for the calls that end the leases, ms. */
const LAST_MS = 2_000;

/**
 * Runs one handler on the messages of a stream for one group. Each partition has a Reader, which takes messages under a lease.
 */
export class Consumer implements StreamConsumerHandle {
  private readonly readers: Reader[] = [];
  private readonly runner: HandlerRunner;
  private readonly maintenance: Maintenance;
  /** Entries that the calls in flight may return. */
  private requested = 0;
  /** Rounds of takes so far. The number selects the partition that comes first in the next round. */
  private rounds = 0;
  private scheduled = false;
  private takeTimer: Timer | undefined;
  private leaseTimer: Timer | undefined;
  private stopping = false;
  private stopped: Promise<void> | undefined;
  ended = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly source: Stream,
    readonly options: ResolvedConsumerOptions,
    private readonly module: ResolvedStreamConsumerModuleOptions,
    invoke: Invoke,
  ) {
    this.runner = new HandlerRunner(options, invoke, () => this.schedule(), registry);
    this.maintenance = new Maintenance(this, module);
  }

  get stream(): string {
    return this.options.stream;
  }

  get group(): string {
    return this.options.group;
  }

  get running(): number {
    return this.runner.size;
  }

  get partitions(): readonly Reader[] {
    return this.readers;
  }

  stats(): Promise<StreamStats> {
    return statsOf(this.registry, this.source, this.group);
  }

  /** Adds readers of new partitions, and creates the group there if it is missing. @throws the errors of ScriptRegistry.run() */
  async openPartitions(): Promise<void> {
    const steps = new Steps('StreamConsumerService.consume', 'Call it again, or remove the group with removeGroup().');
    const partitions = await steps.one(this.source.join(this.group));
    for (const partition of partitions.slice(this.readers.length)) {
      const reader = new Reader(this.registry, this.source, partition, this.options, () => this.schedule());
      await steps.one(reader.open());
      if (this.readers.length === partition.index) this.readers.push(reader);
    }
    this.schedule();
  }

  start(): void {
    if (this.stopping || this.leaseTimer) return;
    const { leaseMs, timeoutMs } = this.options;
    // Leases are renewed after a quarter of their time. The timer fires each eighth of it or more often: if one call comes too
    // early for a renewal, the next call comes long before the lease ends. The timer also ends attempts after `timeoutMs`.
    const everyMs = Math.max(10, Math.min(leaseMs / 8, timeoutMs / 4, 1_000));
    this.leaseTimer = time.setRepeatingTimer(() => this.renewAndExpire(), everyMs);
    this.maintenance.start();
    this.schedule();
  }

  stop(): Promise<void> {
    this.stopped ??= this.end();
    return this.stopped;
  }

  private schedule(): void {
    if (this.scheduled || !this.leaseTimer) return;
    this.scheduled = true;
    nextTurn(() => {
      this.scheduled = false;
      for (const { settler } of this.readers) settler.flush();
      if (!this.stopping) this.takeAll();
    });
  }

  /** Takes at most as many messages as handlers are free, in equal parts from all partitions that may have messages. */
  private takeAll(): void {
    time.clearTimer(this.takeTimer);
    this.takeTimer = undefined;
    let free = this.options.concurrency - this.runner.size - this.requested;
    if (free <= 0) return;
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
      void this.take(ready[ready.length - left] as Reader, count);
    }
    if (next < Infinity) this.takeTimer = time.setTimer(() => this.schedule(), Math.max(1, Math.ceil(next - now)));
  }

  private async take(reader: Reader, count: number): Promise<void> {
    this.requested += count;
    const deliveries = await reader.take(count, () => this.stopping);
    this.requested -= count;
    for (const delivery of deliveries) {
      // All messages of one call have the same session (lease). If it was lost, this consumer no longer owns them.
      if (delivery.session.lost) break;
      if (this.stopping) this.runner.putBack(delivery);
      else this.runner.start(delivery);
    }
    this.schedule();
  }

  private renewAndExpire(): void {
    const now = time.monotonicMs();
    for (const reader of this.readers) void reader.renew(now);
    this.runner.expire(now);
  }

  private async end(): Promise<void> {
    this.stopping = true;
    time.clearTimer(this.takeTimer);
    this.maintenance.stop();
    for (const { wakeup } of this.readers) wakeup.close();
    await reachedWithin(this.module.drainMs, () => this.idle);
    this.runner.abort();
    await reachedWithin(this.module.abortGraceMs, () => this.idle);
    this.runner.handBack();
    await endsWithin(LAST_MS, Promise.all(this.readers.map(({ calls }) => calls.settled())));
    await endsWithin(LAST_MS, Promise.allSettled(this.readers.map((reader) => reader.leave())));
    for (const { calls } of this.readers) calls.close();
    time.clearTimer(this.leaseTimer);
    this.leaseTimer = undefined;
    this.ended = true;
  }

  private get idle(): boolean {
    const quiet = this.readers.every(({ settler, calls, busy }) => settler.idle && calls.size === 0 && !busy);
    return quiet && this.runner.size === 0 && this.requested === 0;
  }
}
