import { LuanestError } from '../../internal/src';

/** A rule's name, a user, an item, an operation, a grant or a time zone cannot be what it is given as; nothing was written. */
export class InvalidReadRewardInputError extends LuanestError {
  readonly code = 'INVALID_READ_REWARD_INPUT';
}

/** Redis' clock moved faster than its periods could be computed, several times over; nothing was written. */
export class PeriodUnsettledError extends LuanestError {
  readonly code = 'PERIOD_UNSETTLED';
}
