import { LuanestError } from '../../internal/src';

/** A test asked for something that its app cannot do, such as to run a task without a handler, or did not end in time. */
export class TestingSetupError extends LuanestError {
  readonly code = 'TESTING_SETUP';
}
