export { ReadRewardEvents } from './read-reward.events';
export { parseLedgerRow } from './grant-id';
export { ReadRewardModule } from './read-reward.module';
export type { ReadRewardModuleOptions, RewardRule } from './read-reward.options';
export { ReadRewardService } from './read-reward.service';
export type { RecordResult, RefundResult } from './read-reward.types';
