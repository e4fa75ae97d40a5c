import { eventChannels } from '../../internal/src';
import type { StreamStats } from './stream-consumer.types';

/** Type of each event of this lib: `StreamConsumerEvents['messageRetried']`, for example. The constant StreamConsumerEvents names the channels. */
export interface StreamConsumerEvents {
  /**
   * An attempt failed, or its handler returned or threw `retryLater`. Another attempt follows after `delayMs`. Published before Redis
   * has stored the retry.
   */
  readonly messageRetried: {
    readonly stream: string;
    readonly group: string;
    readonly id: string;
    /** Number of the attempt that ended, from 1. */
    readonly attempt: number;
    /** Pause before the next attempt, ms. */
    readonly delayMs: number;
    /** Error of the attempt; undefined if the handler used `retryLater`. */
    readonly error?: unknown;
  };

  /**
   * Redis has stored that these messages were handled. An event has up to 128 messages. Some may be messages that another group has
   * replayed: this group settles them without a call of its handler.
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
    /** Number of attempts that counted, at most the option `attempts`. */
    readonly attemptsMade: number;
    /** Text that Redis stores with the dead letter, such as the last error or the reason that the handler gave. */
    readonly reason: string;
    /**
     * Error of the last attempt; undefined if the handler returned or threw an outcome, or was not called because no attempt is
     * left.
     */
    readonly error?: unknown;
  };

  /**
   * This process lost messages: its lease was taken over, Redis lost the lease, or the group was deleted. luanest sends no more
   * outcomes of these messages to Redis. Redis may already have some outcomes, if the reply to an earlier call was lost.
   */
  readonly messagesLost: {
    readonly stream: string;
    readonly group: string;
    readonly ids: readonly string[];
    /** Cause, such as `the group was deleted`. */
    readonly reason: string;
  };

  /** This process took over the messages of a consumer whose lease has ended, at most 100 in one event. */
  readonly sessionTakenOver: {
    readonly stream: string;
    readonly group: string;
    /** Name of the lease that has ended, `<host>:<pid>:<random>`. If another program read the messages: the name of its consumer. */
    readonly session: string;
    /** Number of messages that were taken over, 0 to 100. */
    readonly messages: number;
  };

  /**
   * Statistics of a group. Each of its consumers publishes this event after every successful check of the group. While the group has
   * messages, a consumer checks it about every 10 s; otherwise rarely, in turn with everything else that is idle on this Redis.
   */
  readonly groupMeasured: {
    readonly stream: string;
    readonly group: string;
    readonly stats: StreamStats;
  };

  /**
   * Statistics of a group that may be stalled. A consumer publishes this event after each check that finds an unsettled message which
   * is at least a minute old, unless the group is paused.
   */
  readonly groupStalled: StreamConsumerEvents['groupMeasured'];

  /**
   * A check found that another client of Redis had changed the group or the stream. Only the process that found the change publishes
   * this event. The numbers cover all partitions.
   */
  readonly groupDamaged: {
    readonly stream: string;
    readonly group: string;
    /**
     * Number of messages that the client removed from the group's list of pending entries, as XGROUP DELCONSUMER does. luanest delivers
     * them again.
     */
    readonly restored: number;
    /**
     * Number of messages that the client deleted from the stream after the group had read them, and before the group had handled them.
     * They are lost. Always 0 on a stream with `keys`.
     */
    readonly deleted: number;
  };

  /** A call of a consumer to Redis failed. The consumer repeats the call, unless the consumer stops or its lease is lost. */
  readonly callFailed: {
    readonly stream: string;
    readonly group: string;
    /**
     * Purpose of the call. `take`: reads messages, or creates the group. `settle`: sends outcomes. `renew`: extends the lease. `sweep`:
     * takes over messages. `watch`: checks the group. `subscribe`: subscribes to wake-ups.
     */
    readonly during: 'take' | 'settle' | 'renew' | 'sweep' | 'watch' | 'subscribe';
    readonly error: unknown;
  };
}

/** Name of the `node:diagnostics_channel` channel of each event: `StreamConsumerEvents.messageRetried`, for example. */
export const StreamConsumerEvents = Object.freeze({
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

/** Functions that publish the events of this lib. */
export const events = eventChannels<StreamConsumerEvents>(StreamConsumerEvents);
