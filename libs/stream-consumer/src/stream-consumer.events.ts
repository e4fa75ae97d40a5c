import { eventChannels } from '../../internal/src';
import type { StreamStats } from './stream-consumer.types';

/**
 * Type of each event of this lib, by its key in STREAM_CONSUMER_CHANNELS: `StreamConsumerEvents['messageRetried']`, for example.
 */
export interface StreamConsumerEvents {
  /** An attempt failed, or its handler asked for a retry, and another attempt is due. Published before Redis has stored this. */
  readonly messageRetried: {
    readonly stream: string;
    readonly group: string;
    readonly id: string;
    /** Attempt that ended, from 1. */
    readonly attempt: number;
    /** Pause before the next attempt, ms. */
    readonly delayMs: number;
    /** Error of the attempt; undefined if the handler asked for a retry. */
    readonly error?: unknown;
  };

  /**
   * Redis has accepted that these messages were handled, up to 128 in an event. They include messages that another group has
   * replayed, for which this group calls no handler.
   */
  readonly messagesHandled: {
    readonly stream: string;
    readonly group: string;
    readonly ids: readonly string[];
  };

  /**
   * This process makes a message a dead letter. Published before Redis has stored it. If the message was deleted from the stream in
   * the meantime, there is no dead letter.
   */
  readonly messageDeadLettered: {
    readonly stream: string;
    readonly group: string;
    readonly id: string;
    /** Attempts that counted, at most the option `attempts`. */
    readonly attemptsMade: number;
    /** Text that is kept with the dead letter, such as the last error or the reason that the handler gave. */
    readonly reason: string;
    /**
     * Error of the last attempt; undefined if the handler returned or threw an outcome, or was not called because no attempt is
     * left.
     */
    readonly error?: unknown;
  };

  /**
   * This process lost messages: its lease was taken over, Redis lost the lease, or the group was deleted. The outcomes of their
   * handlers are not sent to Redis any more. Redis may have some of them already, if the reply to the call was lost.
   */
  readonly messagesLost: {
    readonly stream: string;
    readonly group: string;
    readonly ids: readonly string[];
    /** Cause, such as `the group was deleted`. */
    readonly reason: string;
  };

  /** This process took over the messages of a consumer whose lease has ended, at most 100 for each event. */
  readonly sessionTakenOver: {
    readonly stream: string;
    readonly group: string;
    /** Name of that consumer's lease, `<host>:<pid>:<random>`; the name of the consumer if it belongs to another program. */
    readonly session: string;
    /** Number of messages, 0 to 100. */
    readonly messages: number;
  };

  /**
   * Numbers of a group. Each of its consumers publishes them after each check of the group that succeeds. While the group has
   * messages, a consumer checks it about every 10 s; otherwise rarely, in turn with everything else that is idle on this Redis.
   */
  readonly groupMeasured: {
    readonly stream: string;
    readonly group: string;
    readonly stats: StreamStats;
  };

  /**
   * Numbers of a group. A consumer publishes them after each check that finds the group's oldest unsettled message at least a
   * minute old, unless the group is paused.
   */
  readonly groupStalled: StreamConsumerEvents['groupMeasured'];

  /**
   * A check found that another client of Redis had changed the group or the stream. One process reports it, with the messages of all
   * partitions.
   */
  readonly groupDamaged: {
    readonly stream: string;
    readonly group: string;
    /** Messages that were removed from the group's list of pending entries, as XGROUP DELCONSUMER does. They are delivered again. */
    readonly restored: number;
    /**
     * Messages that were deleted from the stream after the group had read them, and before it had handled them. They are lost. 0 on
     * a stream with `keys`.
     */
    readonly deleted: number;
  };

  /** A call of a consumer to Redis failed. The consumer makes it again, unless it stops or its lease is lost. */
  readonly callFailed: {
    readonly stream: string;
    readonly group: string;
    /**
     * `take`: reads messages, or creates the group. `settle`: sends outcomes. `renew`: extends the lease. `sweep`: takes over
     * messages. `watch`: checks the group. `subscribe`: subscribes to wake-ups.
     */
    readonly during: 'take' | 'settle' | 'renew' | 'sweep' | 'watch' | 'subscribe';
    readonly error: unknown;
  };
}

/** Names of the `node:diagnostics_channel` channels of this lib, by event. */
export const STREAM_CONSUMER_CHANNELS = Object.freeze({
  messageRetried: 'luanest:stream-consumer:message.retried',
  messagesHandled: 'luanest:stream-consumer:messages.handled',
  messageDeadLettered: 'luanest:stream-consumer:message.dead-lettered',
  messagesLost: 'luanest:stream-consumer:messages.lost',
  sessionTakenOver: 'luanest:stream-consumer:session.taken-over',
  groupMeasured: 'luanest:stream-consumer:group.measured',
  groupStalled: 'luanest:stream-consumer:group.stalled',
  groupDamaged: 'luanest:stream-consumer:group.damaged',
  callFailed: 'luanest:stream-consumer:call.failed',
});

/** Publishers of this lib's events. */
export const events = eventChannels<StreamConsumerEvents>(STREAM_CONSUMER_CHANNELS);
