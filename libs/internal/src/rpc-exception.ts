type ExceptionClass = new (body: object) => Error;

let loaded: ExceptionClass | undefined;

function load(): ExceptionClass {
  // An app need not install @nestjs/microservices. A static import would make it mandatory. For a bundler, a `require` outside of `try`
  // would, too.
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return (require('@nestjs/microservices') as { RpcException: ExceptionClass }).RpcException;
  } catch (cause) {
    throw new Error(
      '@nestjs/microservices cannot be loaded. It is needed to refuse a message of a microservice. Install it if it is missing.',
      { cause },
    );
  }
}

/**
 * Creates the exception with which a handler of a Nest microservice refuses a message.
 *
 * @throws Error if `@nestjs/microservices` cannot be loaded
 */
export function rpcException(body: object): Error {
  return new (loaded ??= load())(body);
}
