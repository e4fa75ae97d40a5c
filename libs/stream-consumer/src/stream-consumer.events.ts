import { eventChannels } from '../../internal/src';
import type { StreamStats } from './stream-consumer.types';

/**
 * Events of this lib. `StreamConsumerEvents['messageRetried']` is the type of an event;
 * the constant `StreamConsumerEvents` has the names of their channels.
 */
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
   * Redis has stored that these messages were handled, up to 128 in one event. A message that was replayed for another group also counts,
   * although this group does not call its handler.
   */
  readonly messagesHandled: {
    readonly stream: string;
    readonly group: string;
    readonly ids: readonly string[];
  };

  /**
   * A message becomes a dead letter. Published before Redis has stored it. If the message is deleted from the stream meanwhile, no dead
   * letter is stored.
   */
  readonly messageDeadLettered: {
    readonly stream: string;
    readonly group: string;
    readonly id: string;
    /** Number of attempts that counted, at most `attempts`. */
    readonly attemptsMade: number;
    /** Text that Redis stores with the dead letter, such as the last error or the reason that the handler gave. */
    readonly reason: string;
    /**
     * Error of the last attempt; undefined if the handler used `deadLetter` or `retryLater`, or was not called because no attempt is
     * left.
     */
    readonly error?: unknown;
  };

  /**
   * This process no longer owns these messages: another process took them over, Redis lost the lease, or the group was deleted. Their
   * results are not stored in Redis. Exception: an earlier call has stored them, and only its reply was lost.
   */
  readonly messagesLost: {
    readonly stream: string;
    readonly group: string;
    readonly ids: readonly string[];
    /** Cause, such as `the group was deleted`. */
    readonly reason: string;
  };

  /** This process took over messages of a consumer whose lease has ended, at most 100 in one event. */
  readonly sessionTakenOver: {
    readonly stream: string;
    readonly group: string;
    /**
     * Owner of the lease that has ended, `<host>:<pid>:<random>`. If another program had read the messages, the name of its Redis consumer.
     */
    readonly session: string;
    /** Number of messages that were taken over, 0 to 100. */
    readonly messages: number;
  };

  /**
   * Statistics of a group. Each consumer of the group publishes them after a check. A group with messages is checked about every 10 s; an
   * idle group rarely.
   */
  readonly groupMeasured: {
    readonly stream: string;
    readonly group: string;
    readonly stats: StreamStats;
  };

  /**
   * Statistics of a group that may be stalled: a check has found an unfinished message that is at least a minute old. Not published while
   * the group is paused.
   */
  readonly groupStalled: StreamConsumerEvents['groupMeasured'];

  /**
   * A check has found that another Redis client had changed the group or the stream. The numbers cover all partitions. Only the process
   * that found the change publishes this event.
   */
  readonly groupDamaged: {
    readonly stream: string;
    readonly group: string;
    /**
     * Number of messages that the client had removed from the pending entries of the group, as XGROUP DELCONSUMER does. They are delivered
     * again.
     */
    readonly restored: number;
    /**
     * Number of messages that the client deleted from the stream before the group had handled them. They are lost. Always 0 on a stream
     * with `keys`.
     */
    readonly deleted: number;
  };

  /** A call of a consumer to Redis failed. The consumer repeats the call, unless the consumer stops or its lease is lost. */
  readonly callFailed: {
    readonly stream: string;
    readonly group: string;
    /**
     * Purpose of the call. `take`: fetch messages, or create the group. `settle`: store the results of messages. `renew`: extend the lease.
     * `sweep`: take over messages of another process. `watch`: check the group. `subscribe`: subscribe to the channel that wakes consumers.
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
