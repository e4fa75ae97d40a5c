import { LuanestError } from '../../../internal/src/without-nest';

/**
 * Error if a server cannot be started or controlled: no usable `redis-server` was found, the server did not start, or the requested action
 * is impossible in the state of the server. The message names the cause.
 */
export class TestServerError extends LuanestError {
  readonly code = 'TEST_SERVER';
}
