import { LuanestError } from '../../internal/src';

/**
 * An argument of a call is invalid, such as a payload, key, operation id, filter, cursor or id. The call, or this message of
 * `publishMany`, sent nothing to Redis.
 */
export class InvalidStreamInputError extends LuanestError {
  readonly code = 'INVALID_STREAM_INPUT';
}

/** A decorated handler is refused. Thrown when its class is loaded or at boot; the message names class and method. */
export class StreamConsumerSetupError extends LuanestError {
  readonly code = 'STREAM_CONSUMER_SETUP';
}

/**
 * A handler ran for longer than `timeoutMs`, so its attempt has failed. Also the reason of its `signal`, unless that fired before.
 */
export class HandlerTimeoutError extends LuanestError {
  readonly code = 'HANDLER_TIMEOUT';
}

/** The payload of a message is missing or not JSON. The handler was not called, and the message is dead-lettered at once. */
export class MalformedPayloadError extends LuanestError {
  readonly code = 'MALFORMED_PAYLOAD';
}

/** Reason of a message's `signal`: this consumer may no longer own the message, or it stops. */
export class MessageLostError extends LuanestError {
  readonly code = 'MESSAGE_LOST';
}

/** A consumer was not started, because the app shuts down. */
export class StreamConsumerClosedError extends LuanestError {
  readonly code = 'STREAM_CONSUMER_CLOSED';
}
