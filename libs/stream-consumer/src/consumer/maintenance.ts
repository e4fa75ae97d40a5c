import { Logger } from '@nestjs/common';
import { events } from '../stream-consumer.events';
import type { ResolvedStreamConsumerModuleOptions } from '../stream-consumer.options';
import type { StreamConsumerHandle } from '../stream-consumer.types';
import type { Reader } from './reader';

interface Watched extends StreamConsumerHandle {
  readonly partitions: readonly Reader[];
}

/** Looks after a group periodically: partitions that were added, entries that nobody would take or delete, and how it stands. */
export class Watch {
  private readonly logger = new Logger('StreamConsumer');
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private stalled = false;

  /** @param grow reads partitions that were added */
  constructor(
    private readonly consumer: Watched,
    private readonly options: ResolvedStreamConsumerModuleOptions,
    private readonly grow: () => Promise<void>,
  ) {}

  start(): void {
    if (this.stopped) return;
    const ms = this.options.watchEveryMs * (0.75 + Math.random() / 2);
    this.timer = setTimeout(() => void this.look().finally(() => this.start()), ms);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async look(): Promise<void> {
    const { stream, group } = this.consumer;
    try {
      await this.grow();
      for (const reader of this.consumer.partitions) {
        if (!this.stopped) await reader.mend();
        if (!this.stopped) await reader.purge();
      }
      if (!this.stopped) await this.tell();
    } catch (error) {
      events.error.publish(() => ({ stream, group, during: 'watch', error }));
    }
  }

  private async tell(): Promise<void> {
    const { stream, group } = this.consumer;
    const stats = await this.consumer.stats();
    events.stats.publish(() => ({ stream, group, stats }));
    const { oldestMs = 0, pending, lag } = stats;
    const stalled = oldestMs >= this.options.stalledAfterMs;
    if (stalled) events.stalled.publish(() => ({ stream, group, stats }));
    if (stalled && !this.stalled) {
      const figures = `its oldest message is ${oldestMs} ms old, ${pending} are pending, ${lag} not yet taken`;
      this.logger.warn(`${stream}/${group} stands still, or is too slow: ${figures}.`);
    }
    this.stalled = stalled;
  }
}
