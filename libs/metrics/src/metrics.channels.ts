import type { DelayedTaskEvents } from 'luanest/delayed-task';
import type { LockEvents } from 'luanest/lock';
import type { OnceEvents } from 'luanest/once';
import type { OutboxEvents } from 'luanest/outbox';
import type { RateLimitEvents } from 'luanest/rate-limit';
import type { ReadRewardEvents } from 'luanest/read-reward';
import type { ScheduledLockEvents } from 'luanest/scheduled-lock';
import type { ScriptRegistryEvents } from 'luanest/script-registry';
import type { StreamConsumerEvents } from 'luanest/stream-consumer';

// This file imports only types of the libs, so that importing luanest/metrics does not load them. See DECISIONS.md: metrics-from-events
/** Type of each event of a lib, by the full name of its channel. */
type ByChannel<Channels extends Readonly<Record<keyof Events, string>>, Events> = {
  [E in keyof Events as Channels[E]]: Events[E];
};

/** Type of each event of all libs, by the full name of its channel. */
export type ChannelEvents = ByChannel<typeof ScriptRegistryEvents, ScriptRegistryEvents> &
  ByChannel<typeof RateLimitEvents, RateLimitEvents> &
  ByChannel<typeof OnceEvents, OnceEvents> &
  ByChannel<typeof ReadRewardEvents, ReadRewardEvents> &
  ByChannel<typeof LockEvents, LockEvents> &
  ByChannel<typeof ScheduledLockEvents, ScheduledLockEvents> &
  ByChannel<typeof DelayedTaskEvents, DelayedTaskEvents> &
  ByChannel<typeof StreamConsumerEvents, StreamConsumerEvents> &
  ByChannel<typeof OutboxEvents, OutboxEvents>;
