import { type ArgumentsHost, Catch, HttpException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { LuanestError, NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';

type RedisFailure = NotSentError | ScriptRefusedError | UnknownOutcomeError;

/**
 * Returns the exception for a refused request, with the body `{ statusCode, code, message }`.
 *
 * @param code name of the refusal, such as `CROWD_RUNNING`. The operator's page finds its Chinese text by this name
 */
export function refusal(statusCode: number, code: string, message: string, cause?: unknown): HttpException {
  return new HttpException({ statusCode, code, message }, statusCode, { cause });
}

/**
 * Adds the `code` of the underlying error to the body of a refused request, so that a page can show the refusal in its own
 * language. Errors of Redis that no route handled become 503, as in the routes of the libs.
 */
@Catch(HttpException, NotSentError, ScriptRefusedError, UnknownOutcomeError)
export class RefusalFilter extends BaseExceptionFilter {
  override catch(error: HttpException | RedisFailure, host: ArgumentsHost): void {
    // Filters of the app also see errors of task handlers, which have no response. Thrown again, the error fails the task.
    if (host.getType() !== 'http') throw error;
    super.catch(withCode(error), host);
  }
}

function withCode(error: HttpException | RedisFailure): HttpException {
  if (!(error instanceof HttpException)) {
    return refusal(503, 'REDIS_UNAVAILABLE', 'Redis failed. Send the request again later.', error);
  }
  const body = error.getResponse();
  const { cause } = error;
  if (typeof body !== 'object' || 'code' in body || !(cause instanceof LuanestError)) return error;
  const code = isRedisFailure(cause) ? 'REDIS_UNAVAILABLE' : cause.code;
  return new HttpException({ ...body, code }, error.getStatus(), { cause });
}

function isRedisFailure(error: unknown): error is RedisFailure {
  return error instanceof NotSentError || error instanceof ScriptRefusedError || error instanceof UnknownOutcomeError;
}
