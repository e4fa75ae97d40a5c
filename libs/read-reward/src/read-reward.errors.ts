import { LuanestError } from '../../internal/src';

/** Nothing was granted: the call was sent four times, and each time Redis' clock was outside the periods that were sent with it. */
export class PeriodMissedError extends LuanestError {
  readonly code = 'PERIOD_MISSED';
}
