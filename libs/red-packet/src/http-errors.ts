import { InvalidInputError } from '../../internal/src';
import { BadRequestException, ConflictException, NotFoundException, ServiceUnavailableException } from '@nestjs/common';
import { NotReplicatedError, NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { ActivityConflictError, ActivityIncompleteError } from './red-packet.errors';
import { refuse } from './red-packet.input';

/** Returns the value, or replies 404 for undefined, which means that there is no such activity. @throws NotFoundException */
export function found<T>(activityId: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new NotFoundException(`There is no activity ${JSON.stringify(activityId)}. It may have expired.`);
}

/**
 * Parses the query parameter `limit`; the service checks its range.
 * @throws InvalidInputError unless it is 1 to 4 digits
 */
export function readLimit(text: string, max = 1_000): number {
  return /^\d{1,4}$/.test(text) ? Number(text) : refuse('limit', text, `an integer from 1 to ${max} in decimal digits`);
}

/** Runs a call of a service. @throws HttpException if the call rejects, see `refused` */
export async function answer<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    return refused(error);
  }
}

/**
 * Throws the HTTP exception for an error: 400 for invalid input, 409 if the state of the activity does not allow the request, 503
 * if Redis did not answer or refused the script. Throws all other errors as they are.
 */
export function refused(error: unknown): never {
  if (error instanceof InvalidInputError && error.code === 'INVALID_INPUT')
    throw new BadRequestException(error.message, { cause: error });
  if (error instanceof ActivityConflictError || error instanceof ActivityIncompleteError)
    throw new ConflictException(error.message, { cause: error });
  // The response must not show the message of Redis, so only `cause` has it. Clients may repeat every request, because no packet is granted
  // or refunded twice.
  if (error instanceof ScriptRefusedError)
    throw new ServiceUnavailableException('Redis refused the request, so it had no effect. Send it again later.', {
      cause: error,
    });
  if (error instanceof NotSentError || error instanceof UnknownOutcomeError)
    throw new ServiceUnavailableException(
      'Redis did not reply, so the request may have had an effect or not. Send it again: that is safe.',
      { cause: error },
    );
  if (error instanceof NotReplicatedError)
    throw new ServiceUnavailableException(
      'Too few replicas of Redis have confirmed the request in time. Send it again: that is safe.',
      {
        cause: error,
      },
    );
  throw error;
}
