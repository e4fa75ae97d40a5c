import { HttpException, HttpStatus } from '@nestjs/common';
import { rpcException } from '../../../internal/src';

/**
 * Returns the error for a client whose handler did not run: an HttpException, or an RpcException for a microservice.
 *
 * @param type what `context.getType()` returns, such as `rpc`
 * @param where `Class.method`, for the message
 * @param reason status of the call; `skipped-held` becomes the HTTP status 409, every other reason 503
 */
export function refusalFor(type: string, where: string, reason: string): Error {
  const held = reason === 'skipped-held';
  const statusCode = held ? HttpStatus.CONFLICT : HttpStatus.SERVICE_UNAVAILABLE;
  const message = held
    ? `${where} did not run, because another call of it is running and holds its lock. Try again later.`
    : `${where} did not run (${reason}). Try again later.`;
  const body = { status: 'error', statusCode, message, reason };
  return type === 'rpc' ? rpcException(body) : new HttpException(body, statusCode);
}
