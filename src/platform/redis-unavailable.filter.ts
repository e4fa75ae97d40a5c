import { type ArgumentsHost, Catch, ServiceUnavailableException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';

/** Makes each route of the app answer 503 if Redis did not answer, as the routes of the libs do. */
@Catch(NotSentError, ScriptRefusedError, UnknownOutcomeError)
export class RedisUnavailableFilter extends BaseExceptionFilter {
  override catch(error: Error, host: ArgumentsHost): void {
    const answer = new ServiceUnavailableException('Redis did not answer. Send the request again.', { cause: error });
    super.catch(answer, host);
  }
}
