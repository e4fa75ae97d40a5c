import { HttpException, HttpStatus } from '@nestjs/common';

type RpcExceptionClass = new (error: object) => Error;

/** Of an optional peer, which is there where messages come from. */
function rpcExceptionClass(): RpcExceptionClass {
  // An import would demand it of everybody, and so would a bundler for a require outside of `try`.
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return (require('@nestjs/microservices') as { RpcException: RpcExceptionClass }).RpcException;
  } catch (cause) {
    throw new Error('@nestjs/microservices cannot be loaded, and is needed to refuse a message.', { cause });
  }
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
