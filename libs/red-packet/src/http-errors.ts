import { BadRequestException, ConflictException, NotFoundException, ServiceUnavailableException } from '@nestjs/common';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { InvalidStreamInputError } from 'luanest/stream-consumer';
import { ActivityConflictError, InvalidRedPacketInputError } from './red-packet.errors';
import { refuse } from './red-packet.input';

/** @throws NotFoundException for an activity that is not there */
export function found<T>(activityId: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new NotFoundException(`There is no activity ${JSON.stringify(activityId)}. It may have expired.`);
}

/** A page's limit, as a query has it. @throws InvalidRedPacketInputError unless it is digits */
export function readLimit(text: string, max = 1_000): number {
  return /^\d{1,4}$/.test(text) ? Number(text) : refuse('limit', text, `Give an integer of 1 to ${max}.`);
}

/** Runs the service and says in HTTP what it says in errors of its own. */
export async function answer<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    return refused(error);
  }
}

/** @throws HttpException for an error of the service's own, and what it is given otherwise */
export function refused(error: unknown): never {
  if (error instanceof InvalidRedPacketInputError || error instanceof InvalidStreamInputError)
    throw new BadRequestException(error.message, { cause: error });
  if (error instanceof ActivityConflictError) throw new ConflictException(error.message, { cause: error });
  if (error instanceof NotSentError || error instanceof ScriptRefusedError || error instanceof UnknownOutcomeError) {
    // Redis' own words stay in the cause; a repeat is safe, since every call here answers a replay as it did at first.
    throw new ServiceUnavailableException('Redis did not answer. Send the request again.', { cause: error });
  }
  throw error;
}
