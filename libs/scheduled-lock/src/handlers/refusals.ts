import { HttpException, HttpStatus } from '@nestjs/common';
import { rpcException } from '../../../internal/src';

/**
 * What the caller of a handler that did not run is told, in the way of its transport.
 *
 * @param type of the execution context
 * @param where `Class.method`
 * @param outcome of its claim, or `closed` while the app shuts down
 */
export function refusalFor(type: string, where: string, outcome: string): Error {
  const held = outcome === 'skipped-held';
  const statusCode = held ? HttpStatus.CONFLICT : HttpStatus.SERVICE_UNAVAILABLE;
  const message = `${where} ${held ? 'runs already' : 'does not run now'}.`;
  const body = { status: 'error', statusCode, message, outcome };
  return type === 'rpc' ? rpcException(body) : new HttpException(body, statusCode);
}
