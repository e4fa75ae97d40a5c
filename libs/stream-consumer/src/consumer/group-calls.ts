import { Logger } from '@nestjs/common';
import { Retries, thrownText, time } from '../../../internal/src';
import { events, type StreamConsumerEvents } from '../stream-consumer.events';

const LOGGED_EVERY_MS = 30_000;

/** Calls of one partition's reader to Redis. */
export type GroupCalls = Retries<StreamConsumerEvents['callFailed']['during']>;

/** Returns an object that makes and repeats calls. It publishes each failure, and logs at most one in 30 s. */
export function groupCalls(stream: string, group: string): GroupCalls {
  const logger = new Logger('StreamConsumer');
  let loggedAt = -Infinity;
  return new Retries((during, error) => {
    events.callFailed.publish(() => ({ stream, group, during, error }));
    if (time.monotonicMs() - loggedAt < LOGGED_EVERY_MS) return;
    loggedAt = time.monotonicMs();
    logger.warn(
      `${stream}/${group}: a call to Redis (${during}) failed. It is repeated until it succeeds, the consumer stops or its lease is lost. ` +
        thrownText(error),
    );
  });
}
