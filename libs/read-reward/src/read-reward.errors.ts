import { LuanestError } from '../../internal/src';

/** The name of a rule, a user, an item, an operation id, a grant id, a time zone or a ledger entry is invalid; nothing was written. */
export class InvalidReadRewardInputError extends LuanestError {
  readonly code = 'INVALID_READ_REWARD_INPUT';
}

/** Redis' clock was in none of the periods that were sent, four times in a row; nothing was written. */
export class PeriodUnsettledError extends LuanestError {
  readonly code = 'PERIOD_UNSETTLED';
}
