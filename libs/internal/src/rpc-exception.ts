type ExceptionClass = new (body: object) => Error;

let loaded: ExceptionClass | undefined;

function load(): ExceptionClass {
  // The package is optional, so it is loaded here, inside `try`. A static import would make it mandatory. For a bundler, so would a
  // `require` outside of `try`.
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
 * Returns an RpcException, with which a handler of a Nest microservice refuses a message.
 *
 * @throws Error if `@nestjs/microservices` cannot be loaded
 */
export function rpcException(body: object): Error {
  return new (loaded ??= load())(body);
}
