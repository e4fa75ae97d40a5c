type ExceptionClass = new (body: object) => Error;

let loaded: ExceptionClass | undefined;

function load(): ExceptionClass {
  // An optional peer: an import would make it mandatory, and a bundler does the same for a `require` outside of `try`.
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return (require('@nestjs/microservices') as { RpcException: ExceptionClass }).RpcException;
  } catch (cause) {
    throw new Error(
      '@nestjs/microservices cannot be loaded. Install it: it is needed to refuse a message of a microservice.',
      { cause },
    );
  }
}

/** Makes the exception that refuses a message of a microservice. @throws Error if `@nestjs/microservices` is not installed */
export function rpcException(body: object): Error {
  return new (loaded ??= load())(body);
}
