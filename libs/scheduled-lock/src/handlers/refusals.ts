import { HttpException, HttpStatus } from '@nestjs/common';
import { rpcException } from '../../../internal/src';

/** End of the sentence "... did not run, because", by the status of a run. */
const WHY: Readonly<Record<string, string>> = {
  'skipped-held': 'another run of it holds its lock',
  'skipped-slot': 'another process has already run it for this scheduled time',
  stale: "its scheduled time is too far from Redis' time",
  lost: 'the reply of Redis came after the end of the lease',
  'redis-error': 'a call to Redis failed',
  closed: 'the app is shutting down',
};

/** Returns the reason why a job or a handler did not run, as the end of a sentence after "because". @param status status of the run */
export function whyNotRun(status: string): string {
  return WHY[status] ?? `its status is ${status}`;
}

/**
 * Returns the error for a client whose handler did not run: an HttpException, or an RpcException for a microservice.
 *
 * @param type what `context.getType()` returns, such as `rpc`
 * @param where `Class.method`, for the message
 * @param reason status of the call; `skipped-held` becomes the HTTP status 409, every other reason 503
 */
export function refusalFor(type: string, where: string, reason: string): Error {
  const statusCode = reason === 'skipped-held' ? HttpStatus.CONFLICT : HttpStatus.SERVICE_UNAVAILABLE;
  const message = `${where} did not run, because ${whyNotRun(reason)}. Try again later.`;
  const body = { status: 'error', statusCode, message, reason };
  return type === 'rpc' ? rpcException(body) : new HttpException(body, statusCode);
}
