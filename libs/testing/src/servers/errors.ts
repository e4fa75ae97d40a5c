import { LuanestError } from '../../../internal/src/without-nest';

/**
 * A server could not be started or controlled: there is no usable `redis-server`, it did not start, or what was asked of it is
 * impossible in its state. The message names the cause.
 */
export class TestServerError extends LuanestError {
  readonly code = 'TEST_SERVER';
}
