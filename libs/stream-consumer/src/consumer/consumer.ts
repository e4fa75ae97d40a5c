import { setTimeout as sleep } from 'node:timers/promises';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { ResolvedConsumerOptions, ResolvedStreamConsumerModuleOptions } from '../stream-consumer.options';
import type { StreamConsumerHandle, StreamStats } from '../stream-consumer.types';
import type { Stream } from '../streams/stream-catalog';
import { statsOf } from '../streams/stats';
import { Attempts, type Invoke } from './handler-runner';
import { Reader } from './reader';
import { Watch } from './maintenance';

/** Most entries of one take: the script holds Redis for some 0.5 ms with them. */
const MAX_TAKE = 128;
/** How long the last commands of a stop may take, ms. */
const LAST_MS = 2_000;

/** Runs one handler over all partitions of a stream, for one group. */
export class Consumer implements StreamConsumerHandle {
  private readonly readers: Reader[] = [];
  private readonly attempts: Attempts;
  private readonly watch: Watch;
  /** Places that takes which are out may fill. */
  private asked = 0;
  private turn = 0;
  private scheduled = false;
  private timer: NodeJS.Timeout | undefined;
  private keeper: NodeJS.Timeout | undefined;
  private stopping = false;
  private stopped: Promise<void> | undefined;
  /** Whether `stop` is done. */
  ended = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly source: Stream,
    readonly options: ResolvedConsumerOptions,
    private readonly module: ResolvedStreamConsumerModuleOptions,
    invoke: Invoke,
  ) {
    this.attempts = new Attempts(options, invoke, () => this.schedule());
    this.watch = new Watch(this, module, () => this.openPartitions());
  }

  get stream(): string {
    return this.options.stream;
  }

  get group(): string {
    return this.options.group;
  }

  get running(): number {
    return this.attempts.size;
  }

  /** The partitions that are read. */
  get partitions(): readonly Reader[] {
    return this.readers;
  }

  stats(): Promise<StreamStats> {
    return statsOf(this.registry, this.source, this.group);
  }

  /** Makes sure that the group is in all partitions. @throws errors of the registry */
  async open(): Promise<void> {
    await this.openPartitions();
  }

  /** Begins to take. */
  start(): void {
    if (this.stopping || this.keeper) return;
    const { leaseMs, handlerTimeoutMs } = this.options;
    // Twice as often as a lease falls due: a timer that rings early by a hair must not leave it to half of its time.
    this.keeper = setInterval(() => this.keep(), Math.max(10, Math.min(leaseMs / 8, handlerTimeoutMs / 4, 1_000)));
    this.watch.start();
    this.schedule();
  }

  stop(): Promise<void> {
    this.stopped ??= this.end();
    return this.stopped;
  }

  private async openPartitions(): Promise<void> {
    const partitions = await this.source.join(this.group);
    for (const partition of partitions.slice(this.readers.length)) {
      const reader = new Reader(this.registry, this.source, partition, this.options, () => this.schedule());
      await reader.open();
      if (this.readers.length === partition.index) this.readers.push(reader);
    }
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled || !this.keeper) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      for (const { settler } of this.readers) settler.flush();
      if (!this.stopping) this.pump();
    });
  }

  /** Shares the free places among the partitions that may have something, each in its turn first. */
  private pump(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    let free = this.options.concurrency - this.attempts.size - this.asked;
    if (free <= 0) return;
    const now = performance.now();
    let next = Infinity;
    const ready: Reader[] = [];
    for (let i = 0; i < this.readers.length; i++) {
      const reader = this.readers[(this.turn + i) % this.readers.length] as Reader;
      if (reader.busy || reader.settler.behind) continue;
      if (reader.wakeup.at <= now) ready.push(reader);
      else next = Math.min(next, reader.wakeup.at);
    }
    this.turn += 1;
    for (let left = ready.length; left > 0 && free > 0; left--) {
      const count = Math.min(MAX_TAKE, Math.ceil(free / left));
      free -= count;
      void this.take(ready[ready.length - left] as Reader, count);
    }
    if (next < Infinity) this.timer = setTimeout(() => this.schedule(), Math.max(1, next - now));
  }

  private async take(reader: Reader, count: number): Promise<void> {
    this.asked += count;
    const deliveries = await reader.take(count, () => this.stopping);
    this.asked -= count;
    for (const delivery of deliveries) {
      // What was lost meanwhile is another's already.
      if (delivery.session.lost) break;
      if (this.stopping) this.attempts.putBack(delivery);
      else this.attempts.start(delivery);
    }
    this.schedule();
  }

  /** Keeps leases, and ends attempts that take too long. */
  private keep(): void {
    const now = performance.now();
    for (const reader of this.readers) void reader.renew(now);
    this.attempts.expire(now);
  }

  private async end(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.timer);
    this.watch.stop();
    for (const { wakeup } of this.readers) wakeup.close();
    await this.drained(this.module.drainMs);
    this.attempts.abort();
    await this.drained(this.module.abortGraceMs);
    this.attempts.handBack();
    await this.within(LAST_MS, Promise.all(this.readers.map(({ calls }) => calls.settled())));
    await this.within(LAST_MS, Promise.allSettled(this.readers.map((reader) => reader.leave())));
    for (const { calls } of this.readers) calls.close();
    clearInterval(this.keeper);
    this.keeper = undefined;
    this.ended = true;
  }

  /** Whether all that was taken is settled. */
  private get idle(): boolean {
    const quiet = this.readers.every(({ settler, calls, busy }) => settler.idle && calls.size === 0 && !busy);
    return quiet && this.attempts.size === 0 && this.asked === 0;
  }

  private async drained(withinMs: number): Promise<void> {
    const end = performance.now() + withinMs;
    for (let pauseMs = 1; !this.idle && performance.now() < end; pauseMs = Math.min(2 * pauseMs, 20)) {
      await sleep(Math.min(pauseMs, Math.max(1, end - performance.now())));
    }
  }

  private async within(ms: number, work: Promise<unknown>): Promise<void> {
    const timer = new AbortController();
    await Promise.race([work, sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
  }
}
