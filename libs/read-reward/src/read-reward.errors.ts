import { LuanestError } from '../../internal/src';

/** Four times in a row, Redis' clock was in none of the periods that the app sent. Nothing was granted. */
export class PeriodMissedError extends LuanestError {
  readonly code = 'PERIOD_MISSED';
}
