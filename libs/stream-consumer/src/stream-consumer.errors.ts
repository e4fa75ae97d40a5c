import { LuanestError } from '../../internal/src';

/** An argument of a call is not a valid payload, key, operation id, cursor or id; nothing was sent. */
export class InvalidStreamInputError extends LuanestError {
  readonly code = 'INVALID_STREAM_INPUT';
}

/** A decorated handler cannot work; thrown at boot, with the class and the method. */
export class StreamConsumerSetupError extends LuanestError {
  readonly code = 'STREAM_CONSUMER_SETUP';
}

/** A handler ran for longer than `timeoutMs`; the attempt has failed. */
export class HandlerTimeoutError extends LuanestError {
  readonly code = 'HANDLER_TIMEOUT';
}

/** The payload of a message is not JSON, so no handler was called; the message is dead-lettered at once. */
export class MalformedPayloadError extends LuanestError {
  readonly code = 'MALFORMED_PAYLOAD';
}

/** Reason of a message's `signal`: another consumer may have the message. */
export class MessageLostError extends LuanestError {
  readonly code = 'MESSAGE_LOST';
}

/** The app shuts down, and starts no more consumers. */
export class StreamConsumerClosedError extends LuanestError {
  readonly code = 'STREAM_CONSUMER_CLOSED';
}
