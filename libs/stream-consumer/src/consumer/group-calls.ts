import { Logger } from '@nestjs/common';
import { Retries } from '../../../internal/src';
import { events, type StreamErrorEvent } from '../stream-consumer.events';

/** While Redis fails, how often that is logged, ms. */
const LOGGED_EVERY_MS = 30_000;

/** Calls of one consumer that are made again until Redis answers. */
export type GroupCalls = Retries<StreamErrorEvent['during']>;

/** Makes the calls of a group; failures are published, and logged every 30 s. */
export function groupCalls(stream: string, group: string): GroupCalls {
  const logger = new Logger('StreamConsumer');
  let loggedAt = -Infinity;
  return new Retries((during, error) => {
    events.error.publish(() => ({ stream, group, during, error }));
    if (performance.now() - loggedAt < LOGGED_EVERY_MS) return;
    loggedAt = performance.now();
    logger.warn(`${stream}/${group}: ${during} failed and is tried again: ${String(error)}`);
  });
}
