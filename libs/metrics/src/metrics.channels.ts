import type { DELAYED_TASK_CHANNELS, DelayedTaskEvents } from 'luanest/delayed-task';
import type { LOCK_CHANNELS, LockEvents } from 'luanest/lock';
import type { ONCE_CHANNELS, OnceEvents } from 'luanest/once';
import type { OUTBOX_CHANNELS, OutboxEvents } from 'luanest/outbox';
import type { RATE_LIMIT_CHANNELS, RateLimitEvents } from 'luanest/rate-limit';
import type { READ_REWARD_CHANNELS, ReadRewardEvents } from 'luanest/read-reward';
import type { SCHEDULED_LOCK_CHANNELS, ScheduledLockEvents } from 'luanest/scheduled-lock';
import type { SCRIPT_REGISTRY_CHANNELS, ScriptRegistryEvents } from 'luanest/script-registry';
import type { STREAM_CONSUMER_CHANNELS, StreamConsumerEvents } from 'luanest/stream-consumer';

// This file imports only types of the libs, so that importing luanest/metrics does not load them. See DECISIONS.md: metrics-from-events
/** Maps the full name of each channel of a lib to the type of its events. */
type ByChannel<Channels extends Readonly<Record<keyof Events, string>>, Events> = {
  [E in keyof Events as Channels[E]]: Events[E];
};

/** Maps the full name of each channel of all libs to the type of its events. */
export type ChannelEvents = ByChannel<typeof SCRIPT_REGISTRY_CHANNELS, ScriptRegistryEvents> &
  ByChannel<typeof RATE_LIMIT_CHANNELS, RateLimitEvents> &
  ByChannel<typeof ONCE_CHANNELS, OnceEvents> &
  ByChannel<typeof READ_REWARD_CHANNELS, ReadRewardEvents> &
  ByChannel<typeof LOCK_CHANNELS, LockEvents> &
  ByChannel<typeof SCHEDULED_LOCK_CHANNELS, ScheduledLockEvents> &
  ByChannel<typeof DELAYED_TASK_CHANNELS, DelayedTaskEvents> &
  ByChannel<typeof STREAM_CONSUMER_CHANNELS, StreamConsumerEvents> &
  ByChannel<typeof OUTBOX_CHANNELS, OutboxEvents>;
