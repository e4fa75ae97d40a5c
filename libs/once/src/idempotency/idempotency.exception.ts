import { HttpException, type HttpExceptionOptions } from '@nestjs/common';

const REFUSALS = {
  KEY_MISSING: [400, 'Bad Request'],
  KEY_INVALID: [400, 'Bad Request'],
  BODY_TOO_DEEP: [400, 'Bad Request'],
  SUBJECT_UNKNOWN: [401, 'Unauthorized'],
  IN_PROGRESS: [409, 'Conflict'],
  NOT_FINISHED: [409, 'Conflict'],
  RESPONSE_NOT_KEPT: [409, 'Conflict'],
  BODY_NOT_COMPARABLE: [415, 'Unsupported Media Type'],
  KEY_REUSED: [422, 'Unprocessable Content'],
  REDIS_UNAVAILABLE: [503, 'Service Unavailable'],
} as const;

/** Code of an HTTP refusal: why an idempotent route neither ran its handler nor sent a stored response. */
type IdempotencyRefusal = keyof typeof REFUSALS;

/** Refusal of a request by an idempotent route. The response has RFC 9457 problem details, with the additional member `code`. */
export class IdempotencyException extends HttpException {
  /**
   * @param code reason of the refusal
   * @param detail one or two sentences for the client; also the message of the exception
   */
  constructor(
    readonly code: IdempotencyRefusal,
    detail: string,
    options?: HttpExceptionOptions,
  ) {
    const [status, title] = REFUSALS[code];
    super({ type: 'about:blank', title, status, detail, code }, status, options);
    this.message = detail;
  }
}
