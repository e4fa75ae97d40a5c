import { eventChannels } from '../../internal/src';

/** Type of each event of this lib, by its key in OUTBOX_CHANNELS: `OutboxEvents['rowsSent']`, for example. */
export interface OutboxEvents {
  /** Rows of a round were sent, and deleted. */
  readonly rowsSent: {
    readonly table: string;
    readonly tasks: number;
    readonly messages: number;
    /** Age of the oldest of them when the round began, ms by the database's clock. */
    readonly lagMs: number;
  };

  /** A row was set aside, because Redis or this process refuses it, or because it is undecided. */
  readonly rowFailed: {
    readonly table: string;
    readonly id: string;
    readonly kind: 'task' | 'message';
    readonly target: string;
    /** True if nobody knows whether the row took effect, and it is too old to be sent again. */
    readonly undecided: boolean;
    /** Error of the last call; undefined for an undecided row. */
    readonly error?: unknown;
  };

  /** A call of the relay failed. It is made again. */
  readonly callFailed: {
    readonly table: string;
    /** `send`: a call to Redis; also for a stream that is full. `round`: a call to the database. */
    readonly during: 'send' | 'round';
    readonly error: unknown;
  };
}

/** Names of the `node:diagnostics_channel` channels of this lib, by event. */
export const OUTBOX_CHANNELS = Object.freeze({
  rowsSent: 'luanest:outbox:rows.sent',
  rowFailed: 'luanest:outbox:row.failed',
  callFailed: 'luanest:outbox:call.failed',
});

/** Publishers of this lib's events. */
export const events = eventChannels<OutboxEvents>(OUTBOX_CHANNELS);
