import { Logger } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { Bell, type IdleCheck, idleChecksOf, time, type Timer } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import { events } from '../stream-consumer.events';
import type { ResolvedConsumerOptions, ResolvedStreamConsumerModuleOptions } from '../stream-consumer.options';
import type { StreamConsumerHandle, StreamStats } from '../stream-consumer.types';
import type { Stream } from '../streams/stream-catalog';
import type { Reader } from './reader';
import type { Step } from './session';

interface MaintainedConsumer extends StreamConsumerHandle {
  readonly options: ResolvedConsumerOptions;
  readonly partitions: readonly Reader[];
  openPartitions(): Promise<void>;
}

/** Average pause between two checks of a group that is in use, ms. */
export const CHECK_EVERY_MS = 10_000;
/** Number of commands that Redis runs in one check of a group: for the stream, and in addition for each partition. */
const [STREAM_COMMANDS, PARTITION_COMMANDS] = [8, 34];

/** Returns true if the group has no unfinished messages. Then no check is needed before the next publish. */
function isQuiet({ pending, lag, due }: StreamStats): boolean {
  return pending + lag + due === 0;
}

/**
 * Checks a group periodically: starts to read new partitions, recovers messages that would never be delivered again, deletes messages that
 * all groups have handled, and publishes statistics. A group without messages is checked rarely. When the stream gets a partition or a
 * group, or a group is paused or resumed, only the partitions and the pause are read.
 */
export class Maintenance {
  private readonly logger = new Logger('StreamConsumer');
  private readonly bell: Bell;
  private readonly idle: IdleCheck;
  private timer: Timer | undefined;
  private checking: Promise<void> | undefined;
  private stopped = false;
  private stalled = false;
  private quiet = true;
  private checkedAt = time.monotonicMs();

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly source: Stream,
    private readonly consumer: MaintainedConsumer,
    private readonly options: ResolvedStreamConsumerModuleOptions,
    private readonly reportError: Calls<Step>['reportError'],
  ) {
    const failed = (error: unknown): void => reportError('subscribe', error);
    this.bell = new Bell(registry, source.channel, () => this.streamChanged(), failed);
    this.idle = {
      get commands() {
        return STREAM_COMMANDS + PARTITION_COMMANDS * consumer.partitions.length;
      },
      check: () => this.checkIdle(),
    };
  }

  start(): void {
    if (this.stopped) return;
    idleChecksOf(this.registry).add(this.idle);
    this.bell.listen();
    this.schedule();
  }

  stop(): void {
    this.stopped = true;
    idleChecksOf(this.registry).remove(this.idle);
    this.bell.close();
    time.clearTimer(this.timer);
  }

  private schedule(): void {
    const ms = CHECK_EVERY_MS * (0.75 + Math.random() / 2);
    this.timer = time.setTimer(() => {
      const { partitions, options } = this.consumer;
      // A stream with `keys` may have a consumer of another program in the same group. If that one dies, nothing wakes this process. So the
      // group is also checked while it is not in use, at most once per `pollMs`.
      const polls = this.source.isForeign && time.monotonicMs() - this.checkedAt >= options.pollMs;
      const isInUse = polls || !this.quiet || partitions.some(({ wakeup }) => wakeup.used);
      void (isInUse ? this.check() : Promise.resolve()).finally(() => !this.stopped && this.schedule());
    }, ms);
  }

  /** Checks the group, and reads all partitions, to find messages whose publisher could not wake the consumers. */
  private async checkIdle(): Promise<void> {
    await this.check();
    for (const { wakeup } of this.consumer.partitions) wakeup.ring();
  }

  private streamChanged(): void {
    if (this.stopped) return;
    this.bell.listen();
    this.consumer.openPartitions().catch((error: unknown) => this.failed(error));
  }

  /** Reports a failed check, unless the consumer was stopped. A check that is in flight may then fail, which is harmless. */
  private failed(error: unknown): void {
    if (!this.stopped) this.reportError('watch', error);
  }

  private check(): Promise<void> {
    this.checking ??= this.checkAll().finally(() => (this.checking = undefined));
    return this.checking;
  }

  private async checkAll(): Promise<void> {
    this.checkedAt = time.monotonicMs();
    for (const { wakeup } of this.consumer.partitions) wakeup.used = false;
    try {
      await this.consumer.openPartitions();
      let [restored, deleted] = [0, 0];
      for (const reader of this.consumer.partitions) {
        const found = this.stopped ? undefined : await reader.repair();
        restored += found?.restored ?? 0;
        deleted += found?.deleted ?? 0;
        if (!this.stopped) await reader.purge();
        // The repair may have reduced the number of keys with unfinished messages below MAX_KEYS, so that new messages can be read.
        if (reader.blocked) reader.wakeup.ring();
      }
      if (restored + deleted > 0) this.reportDamage(restored, deleted);
      if (!this.stopped) await this.measure();
    } catch (error) {
      this.failed(error);
    }
  }

  private reportDamage(restored: number, deleted: number): void {
    const { stream, group } = this.consumer;
    events.groupDamaged.publish(() => ({ stream, group, restored, deleted }));
    const found = [
      restored > 0 &&
        `removed ${restored} message(s) from the pending list (as XGROUP DELCONSUMER does), which are delivered again`,
      deleted > 0 &&
        `deleted ${deleted} message(s) before they were handled (as XDEL and XTRIM do), which are lost for this group`,
    ];
    this.logger.warn(
      `Stream ${stream}, group ${group}: Another client of Redis ${found.filter(Boolean).join(', and ')}. Find the program that ` +
        'changes this stream, and stop it.',
    );
  }

  private async measure(): Promise<void> {
    const { stream, group } = this.consumer;
    const stats = await this.consumer.stats();
    events.groupMeasured.publish(() => ({ stream, group, stats }));
    this.quiet = isQuiet(stats);
    const { oldestMs = 0, pending, lag } = stats;
    const stalled = !stats.paused && oldestMs >= this.options.stalledAfterMs;
    if (stalled) events.groupStalled.publish(() => ({ stream, group, stats }));
    if (stalled && !this.stalled) {
      this.logger.warn(
        `Stream ${stream}, group ${group} may be stalled: its oldest unfinished message is ${oldestMs} ms old. ${pending} messages ` +
          `are read but unfinished, and ${lag} are not read yet. Check that a process with the handler runs, and that the handler ends.`,
      );
    }
    if (!stalled && this.stalled) this.logger.log(`Stream ${stream}, group ${group} is no longer stalled.`);
    this.stalled = stalled;
  }
}
