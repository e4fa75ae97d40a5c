import { HttpException, HttpStatus } from '@nestjs/common';

type RpcExceptionClass = new (error: object) => Error;

/** Of an optional peer, which is there where messages come from. */
function rpcExceptionClass(): RpcExceptionClass {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would demand it of everybody
  return (require('@nestjs/microservices') as { RpcException: RpcExceptionClass }).RpcException;
}

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
  return type === 'rpc' ? new (rpcExceptionClass())(body) : new HttpException(body, statusCode);
}
