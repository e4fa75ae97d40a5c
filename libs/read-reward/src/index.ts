export type { Period } from './civil-calendar';
export { InvalidReadRewardInputError, PeriodUnsettledError } from './read-reward.errors';
export {
  READ_REWARD_CHANNELS,
  type GrantRefundedEvent,
  type PeriodMissedEvent,
  type ReadRecordedEvent,
} from './read-reward.events';
export { parseLedgerRow } from './grant-id';
export { ReadRewardModule } from './read-reward.module';
export type { ReadRewardModuleOptions, RewardRule } from './read-reward.options';
export { ReadRewardService } from './read-reward.service';
export type {
  LedgerRow,
  RecordRead,
  RecordResult,
  RecordStatus,
  RefundResult,
  RefundStatus,
  RewardStatus,
} from './read-reward.types';
