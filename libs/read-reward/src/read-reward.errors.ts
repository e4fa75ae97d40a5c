import { LuanestError } from '../../internal/src';

/** A rule name, user id, item id, operation id, grant id, time zone or ledger entry is invalid or unknown. Nothing was sent to Redis. */
export class InvalidReadRewardInputError extends LuanestError {
  readonly code = 'INVALID_READ_REWARD_INPUT';
}

/** Four times in a row, Redis' clock was in none of the periods that the app sent. Nothing was granted. */
export class PeriodMissedError extends LuanestError {
  readonly code = 'PERIOD_MISSED';
}
