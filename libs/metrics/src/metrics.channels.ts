import type {
  DELAYED_TASK_CHANNELS,
  QueueRepairedEvent,
  TasksBuriedEvent,
  AttemptSettledEvent,
  TaskCallFailedEvent,
} from 'luanest/delayed-task';
import type {
  LOCK_CHANNELS,
  LockAcquisitionEndedEvent,
  LockCallFailedEvent,
  LockLostEvent,
  LockReleasedEvent,
} from 'luanest/lock';
import type {
  ClaimAnsweredEvent,
  LeaseLostEvent,
  ONCE_CHANNELS,
  ResultDroppedEvent,
  SettlementFailedEvent,
} from 'luanest/once';
import type {
  RATE_LIMIT_CHANNELS,
  RateLimitBreakerEvent,
  RateLimitDecidedEvent,
  RateLimitFailedEvent,
  RateLimitUnknownSubjectEvent,
} from 'luanest/rate-limit';
import type {
  GrantRefundedEvent,
  PeriodMissedEvent,
  READ_REWARD_CHANNELS,
  ReadRecordedEvent,
} from 'luanest/read-reward';
import type { TickEndedEvent, SCHEDULED_LOCK_CHANNELS } from 'luanest/scheduled-lock';
import type {
  CallEndedEvent,
  CallFailedEvent,
  CallStartedEvent,
  GroupEndedEvent,
  SCRIPT_REGISTRY_CHANNELS,
  ScriptsHealedEvent,
  ScriptsLoadedEvent,
} from 'luanest/script-registry';
import type {
  GroupMeasuredEvent,
  MessageDeadLetteredEvent,
  MessageRetriedEvent,
  MessagesLostEvent,
  SessionTakenOverEvent,
  STREAM_CONSUMER_CHANNELS,
  StreamCallFailedEvent,
} from 'luanest/stream-consumer';

// The libs are imported as types only, because importing metrics must not load them. See DECISIONS.md: metrics-from-events
type Registry = typeof SCRIPT_REGISTRY_CHANNELS;
type RateLimit = typeof RATE_LIMIT_CHANNELS;
type Once = typeof ONCE_CHANNELS;
type ReadReward = typeof READ_REWARD_CHANNELS;
type Lock = typeof LOCK_CHANNELS;
type DelayedTask = typeof DELAYED_TASK_CHANNELS;
type Stream = typeof STREAM_CONSUMER_CHANNELS;

/** Type of the events of each channel that metrics are made from. */
export type ChannelEvents = Record<Registry['scriptsLoaded'], ScriptsLoadedEvent> &
  Record<Registry['scriptsHealed'], ScriptsHealedEvent> &
  Record<Registry['groupEnded'], GroupEndedEvent> &
  Record<Registry['callStarted'], CallStartedEvent> &
  Record<Registry['callEnded'], CallEndedEvent> &
  Record<Registry['callFailed'], CallFailedEvent> &
  Record<RateLimit['requestAllowed'] | RateLimit['requestRefused'], RateLimitDecidedEvent> &
  Record<RateLimit['redisFailed'], RateLimitFailedEvent> &
  Record<RateLimit['breakerChanged'], RateLimitBreakerEvent> &
  Record<RateLimit['subjectUnknown'], RateLimitUnknownSubjectEvent> &
  Record<Once['claimAnswered'], ClaimAnsweredEvent> &
  Record<Once['leaseLost'], LeaseLostEvent> &
  Record<Once['resultDropped'], ResultDroppedEvent> &
  Record<Once['settlementFailed'], SettlementFailedEvent> &
  Record<ReadReward['readRecorded'], ReadRecordedEvent> &
  Record<ReadReward['grantRefunded'], GrantRefundedEvent> &
  Record<ReadReward['periodMissed'], PeriodMissedEvent> &
  Record<Lock['acquisitionEnded'], LockAcquisitionEndedEvent> &
  Record<Lock['lockReleased'], LockReleasedEvent> &
  Record<Lock['lockLost'], LockLostEvent> &
  Record<Lock['callFailed'], LockCallFailedEvent> &
  Record<(typeof SCHEDULED_LOCK_CHANNELS)['tickEnded'], TickEndedEvent> &
  Record<DelayedTask['attemptSettled'], AttemptSettledEvent> &
  Record<DelayedTask['tasksBuried'], TasksBuriedEvent> &
  Record<DelayedTask['callFailed'], TaskCallFailedEvent> &
  Record<DelayedTask['queueRepaired'], QueueRepairedEvent> &
  Record<Stream['messageRetried'], MessageRetriedEvent> &
  Record<Stream['messageDeadLettered'], MessageDeadLetteredEvent> &
  Record<Stream['messagesLost'], MessagesLostEvent> &
  Record<Stream['sessionTakenOver'], SessionTakenOverEvent> &
  Record<Stream['groupMeasured'], GroupMeasuredEvent> &
  Record<Stream['callFailed'], StreamCallFailedEvent>;
