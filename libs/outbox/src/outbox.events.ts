import { eventChannels } from '../../internal/src';

/** Events of this lib. `OutboxEvents['rowsSent']` is the type of an event; the constant `OutboxEvents` has the names of their channels. */
export interface OutboxEvents {
  /** Rows were sent to Redis and deleted from the table. */
  readonly rowsSent: {
    readonly table: string;
    readonly tasks: number;
    readonly messages: number;
    /** Age of the oldest of these rows when it was read from the table, ms by the clock of the database. */
    readonly lagMs: number;
  };

  /**
   * A row was set aside: it stays in the table, but is not sent again until you call `retry`. Either Redis or this process has refused it,
   * or it is unknown if the row took effect.
   */
  readonly rowFailed: {
    readonly table: string;
    readonly id: string;
    readonly kind: 'task' | 'message';
    readonly target: string;
    /**
     * True if it is unknown whether the row took effect in Redis, and the row is too old to be sent again safely. False if the row was
     * refused.
     */
    readonly undecided: boolean;
    /** Reason why the row was refused; undefined if `undecided` is true. */
    readonly error?: unknown;
  };

  /** A call to Redis or to the database failed. The loop that sends the rows will repeat it. */
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
