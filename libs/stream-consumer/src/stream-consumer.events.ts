import { eventChannels } from '../../internal/src';
import type { StreamStats } from './stream-consumer.types';

interface OfGroup {
  readonly stream: string;
  readonly group: string;
}

/** An attempt failed or asked for another one. */
export interface MessageRetriedEvent extends OfGroup {
  readonly id: string;
  readonly attempt: number;
  readonly delayMs: number;
  /** Undefined where the handler asked for it. */
  readonly error: unknown;
}

/** A message was given up. */
export interface MessageDeadEvent extends OfGroup {
  readonly id: string;
  readonly attempts: number;
  readonly error: string;
}

/** Messages were lost to other consumers: what their handlers said later changed nothing. */
export interface MessagesLostEvent extends OfGroup {
  readonly ids: readonly string[];
  readonly reason: string;
}

/** What a dead consumer had may be taken by others; told by the process that found it. */
export interface TakenOverEvent extends OfGroup {
  /** Who died, `<host>:<pid>:<random>`. */
  readonly session: string;
  readonly messages: number;
}

/** How a group stands, told by each of its processes every `watchEveryMs`. */
export interface StreamStatsEvent extends OfGroup {
  readonly stats: StreamStats;
}

/** Redis failed, or a call to it; it is tried again. */
export interface StreamErrorEvent extends OfGroup {
  readonly during: 'take' | 'settle' | 'renew' | 'sweep' | 'watch' | 'subscribe' | 'leave';
  readonly error: unknown;
}

/** Names of the `node:diagnostics_channel` channels that consumers publish to. */
export const STREAM_CONSUMER_CHANNELS = Object.freeze({
  retried: 'luanest:stream-consumer:retried',
  dead: 'luanest:stream-consumer:dead',
  lost: 'luanest:stream-consumer:lost',
  takenOver: 'luanest:stream-consumer:taken-over',
  stats: 'luanest:stream-consumer:stats',
  stalled: 'luanest:stream-consumer:stalled',
  error: 'luanest:stream-consumer:error',
});

interface Events {
  retried: MessageRetriedEvent;
  dead: MessageDeadEvent;
  lost: MessagesLostEvent;
  takenOver: TakenOverEvent;
  stats: StreamStatsEvent;
  stalled: StreamStatsEvent;
  error: StreamErrorEvent;
}

/** Where this lib tells what happens. */
export const events = eventChannels<Events>(STREAM_CONSUMER_CHANNELS);
