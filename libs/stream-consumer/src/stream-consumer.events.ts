import { eventChannels } from '../../internal/src';
import type { StreamStats } from './stream-consumer.types';

interface OfGroup {
  readonly stream: string;
  readonly group: string;
}

/** An attempt failed, or its handler asked for another one. */
export interface MessageRetriedEvent extends OfGroup {
  readonly id: string;
  /** Attempt that ended, from 1. */
  readonly attempt: number;
  /** Pause before the next attempt, ms. */
  readonly delayMs: number;
  /** Error of the attempt; undefined if the handler asked for a retry. */
  readonly error?: unknown;
}

/** A message became a dead letter. */
export interface MessageDeadLetteredEvent extends OfGroup {
  readonly id: string;
  /** Attempts that were made. */
  readonly attempts: number;
  /** Text that is kept with the dead letter: the last error, or the reason that the handler gave. */
  readonly reason: string;
  /** Error of the last attempt; undefined if the handler gave the message up, or each attempt ended with its process. */
  readonly error?: unknown;
}

/** Messages were lost to other consumers: the outcomes of their handlers changed nothing. */
export interface MessagesLostEvent extends OfGroup {
  readonly ids: readonly string[];
  readonly reason: string;
}

/** This process took over messages of a consumer whose lease has ended. */
export interface SessionTakenOverEvent extends OfGroup {
  /** Session of that consumer, `<host>:<pid>:<random>`. */
  readonly session: string;
  readonly messages: number;
}

/** Numbers of a group, published by each of its processes every `watchEveryMs`. */
export interface GroupMeasuredEvent extends OfGroup {
  readonly stats: StreamStats;
}

/** A call to Redis failed. It is made again. */
export interface StreamCallFailedEvent extends OfGroup {
  readonly during: 'take' | 'settle' | 'renew' | 'sweep' | 'watch' | 'subscribe';
  readonly error?: unknown;
}

/** Names of the `node:diagnostics_channel` channels of this lib, by event. */
export const STREAM_CONSUMER_CHANNELS = Object.freeze({
  messageRetried: 'luanest:stream-consumer:message.retried',
  messageDeadLettered: 'luanest:stream-consumer:message.dead-lettered',
  messagesLost: 'luanest:stream-consumer:messages.lost',
  sessionTakenOver: 'luanest:stream-consumer:session.taken-over',
  groupMeasured: 'luanest:stream-consumer:group.measured',
  groupStalled: 'luanest:stream-consumer:group.stalled',
  callFailed: 'luanest:stream-consumer:call.failed',
});

interface Events {
  messageRetried: MessageRetriedEvent;
  messageDeadLettered: MessageDeadLetteredEvent;
  messagesLost: MessagesLostEvent;
  sessionTakenOver: SessionTakenOverEvent;
  groupMeasured: GroupMeasuredEvent;
  groupStalled: GroupMeasuredEvent;
  callFailed: StreamCallFailedEvent;
}

/** Channels of this lib. */
export const events = eventChannels<Events>(STREAM_CONSUMER_CHANNELS);
