import { BadRequestException, ConflictException, NotFoundException, ServiceUnavailableException } from '@nestjs/common';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { InvalidStreamInputError } from 'luanest/stream-consumer';
import { ActivityConflictError, InvalidRedPacketInputError } from './red-packet.errors';
import { refuse } from './red-packet.input';

/** Returns the value. @throws NotFoundException if it is undefined: there is no such activity */
export function found<T>(activityId: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new NotFoundException(`There is no activity ${JSON.stringify(activityId)}. It may have expired.`);
}

/** Parses the limit of a query. @throws InvalidRedPacketInputError unless it has 1 to 4 digits */
export function readLimit(text: string, max = 1_000): number {
  return /^\d{1,4}$/.test(text) ? Number(text) : refuse('limit', text, `an integer from 1 to ${max}`);
}

/** Calls the service, and converts its errors to HTTP exceptions. */
export async function answer<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    return refused(error);
  }
}

/** @throws HttpException for an error of this lib or the registry; other errors are thrown as they are */
export function refused(error: unknown): never {
  if (error instanceof InvalidRedPacketInputError || error instanceof InvalidStreamInputError)
    throw new BadRequestException(error.message, { cause: error });
  if (error instanceof ActivityConflictError) throw new ConflictException(error.message, { cause: error });
  if (error instanceof NotSentError || error instanceof ScriptRefusedError || error instanceof UnknownOutcomeError) {
    // The message of Redis is only in the cause. A repeat is safe: every call returns the first result, or is harmless twice.
    throw new ServiceUnavailableException('Redis did not answer. Send the request again.', { cause: error });
  }
  throw error;
}
