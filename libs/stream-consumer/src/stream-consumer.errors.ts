import { LuanestError } from '../../internal/src';

/** The payload of a message is missing or not JSON. The handler was not called, and the message is dead-lettered at once. */
export class MalformedPayloadError extends LuanestError {
  readonly code = 'MALFORMED_PAYLOAD';
}
