import { LuanestError } from '../../../internal/src/without-nest';

/**
 * A server cannot be started or controlled: there is no usable `redis-server`, it did not start, or it is in a state in which the action is
 * impossible. The message names the cause.
 */
export class TestServerError extends LuanestError {
  readonly code = 'TEST_SERVER';
}
