import { eventChannels } from '../../internal/src';

/** Type of each event of this lib: `OutboxEvents['rowsSent']`, for example. The constant OutboxEvents names the channels. */
export interface OutboxEvents {
  /** Rows were sent to Redis and deleted from the table. */
  readonly rowsSent: {
    readonly table: string;
    readonly tasks: number;
    readonly messages: number;
    /** Age of the oldest of these rows when they were read from the table, ms, by the database's clock. */
    readonly lagMs: number;
  };

  /**
   * A row was set aside: it stays in the table, and is not sent again until you call `retry`. Either Redis or this process has refused
   * the row, or nobody knows whether the row took effect.
   */
  readonly rowFailed: {
    readonly table: string;
    readonly id: string;
    readonly kind: 'task' | 'message';
    readonly target: string;
    /** True if nobody knows whether the row took effect in Redis, and the row is too old to be sent again. False if the row was refused. */
    readonly undecided: boolean;
    /** Error for which the row was refused; undefined if `undecided` is true. */
    readonly error?: unknown;
  };

  /** A call to Redis or to the database failed. The relay (the loop that sends the rows) repeats the call. */
  readonly callFailed: {
    readonly table: string;
    /** `send`: a call to Redis failed, or a stream is full. `round`: a call to the database failed. */
    readonly during: 'send' | 'round';
    readonly error: unknown;
  };
}

/** Name of the `node:diagnostics_channel` channel of each event: `OutboxEvents.rowsSent`, for example. */
export const OutboxEvents = Object.freeze({
  rowsSent: 'luanest:outbox:rows.sent',
  rowFailed: 'luanest:outbox:row.failed',
  callFailed: 'luanest:outbox:call.failed',
});

/** Functions that publish the events of this lib. */
export const events = eventChannels<OutboxEvents>(OutboxEvents);
