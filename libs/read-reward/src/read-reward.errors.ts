import { LuanestError } from '../../internal/src';

/** A call was sent four times, and Redis' clock was in none of the periods that were sent with the call. Nothing was granted. */
export class PeriodMissedError extends LuanestError {
  readonly code = 'PERIOD_MISSED';
}
