import { LuanestError } from '../../internal/src';

/** What was given to a call cannot be a payload, a key or an id; nothing was sent. */
export class InvalidStreamInputError extends LuanestError {
  readonly code = 'INVALID_STREAM_INPUT';
}

/** What a handler or an interceptor says became of a message is not an outcome; the message is dead-lettered at once. */
export class InvalidOutcomeError extends LuanestError {
  readonly code = 'INVALID_OUTCOME';
}

/** A decorated handler cannot work as it is; thrown at boot, naming class and method. */
export class StreamConsumerSetupError extends LuanestError {
  readonly code = 'STREAM_CONSUMER_SETUP';
}

/** A handler ran for longer than `handlerTimeoutMs`; the attempt counts as failed. */
export class HandlerTimeoutError extends LuanestError {
  readonly code = 'HANDLER_TIMEOUT';
}

/** The payload of a message is not JSON, so no handler saw it; the message is dead-lettered at once. */
export class MalformedPayloadError extends LuanestError {
  readonly code = 'MALFORMED_PAYLOAD';
}

/** The reason of a message's signal: another consumer may have the message. */
export class MessageLostError extends LuanestError {
  readonly code = 'MESSAGE_LOST';
}

/** The app shuts down, and starts no consumers. */
export class StreamConsumerClosedError extends LuanestError {
  readonly code = 'STREAM_CONSUMER_CLOSED';
}
