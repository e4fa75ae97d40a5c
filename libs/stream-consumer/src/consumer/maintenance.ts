import { Logger } from '@nestjs/common';
import { time, type Timer } from '../../../internal/src';
import { events } from '../stream-consumer.events';
import type { ResolvedStreamConsumerModuleOptions } from '../stream-consumer.options';
import type { StreamConsumerHandle } from '../stream-consumer.types';
import type { Reader } from './reader';

interface MaintainedConsumer extends StreamConsumerHandle {
  readonly partitions: readonly Reader[];
  openPartitions(): Promise<void>;
}

/**
 * Checks a group periodically: starts to read new partitions, recovers pending messages that nothing would deliver again, deletes
 * messages that all groups have settled, and publishes the numbers of the group.
 */
export class Maintenance {
  private readonly logger = new Logger('StreamConsumer');
  private timer: Timer | undefined;
  private stopped = false;
  private stalled = false;

  constructor(
    private readonly consumer: MaintainedConsumer,
    private readonly options: ResolvedStreamConsumerModuleOptions,
  ) {}

  start(): void {
    if (this.stopped) return;
    const ms = this.options.watchEveryMs * (0.75 + Math.random() / 2);
    this.timer = time.setTimer(() => void this.check().finally(() => this.start()), ms);
  }

  stop(): void {
    this.stopped = true;
    time.clearTimer(this.timer);
  }

  private async check(): Promise<void> {
    const { stream, group } = this.consumer;
    try {
      await this.consumer.openPartitions();
      for (const reader of this.consumer.partitions) {
        if (!this.stopped) await reader.repair();
        if (!this.stopped) await reader.purge();
      }
      if (!this.stopped) await this.measure();
    } catch (error) {
      events.callFailed.publish(() => ({ stream, group, during: 'watch', error }));
    }
  }

  private async measure(): Promise<void> {
    const { stream, group } = this.consumer;
    const stats = await this.consumer.stats();
    events.groupMeasured.publish(() => ({ stream, group, stats }));
    const { oldestMs = 0, pending, lag } = stats;
    const stalled = oldestMs >= this.options.stalledAfterMs;
    if (stalled) events.groupStalled.publish(() => ({ stream, group, stats }));
    if (stalled && !this.stalled) {
      this.logger.warn(
        `${stream}/${group} may be stalled: its oldest unsettled message is ${oldestMs} ms old, ` +
          `${pending} messages are pending, and ${lag} are not read yet.`,
      );
    }
    if (!stalled && this.stalled) this.logger.log(`${stream}/${group} is no longer stalled.`);
    this.stalled = stalled;
  }
}
