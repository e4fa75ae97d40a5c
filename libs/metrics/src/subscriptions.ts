import { diag } from '@opentelemetry/api';
import { subscribeTo } from '../../internal/src';
import type { ChannelEvents } from './metrics.channels';

export class Subscriptions {
  private readonly undo: (() => void)[] = [];

  /**
   * Calls `handle` with each event of a channel. If `handle` throws, the error is reported to `diag` of OpenTelemetry; otherwise Node would
   * end the process.
   */
  on<C extends keyof ChannelEvents>(channel: C, handle: (event: ChannelEvents[C]) => void): void {
    const listener = (event: unknown): void => {
      try {
        handle(event as ChannelEvents[C]);
      } catch (error) {
        diag.error(
          `luanest/metrics: An event of the channel ${channel} could not be recorded, so some metrics are too low. The error:`,
          error,
        );
      }
    };
    this.undo.push(subscribeTo(channel, listener));
  }

  close(): void {
    for (const undo of this.undo.splice(0)) undo();
  }
}
