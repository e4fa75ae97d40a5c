type ExceptionClass = new (body: object) => Error;

let loaded: ExceptionClass | undefined;

function load(): ExceptionClass {
  // The package is optional. A static import, or for a bundler a `require` outside of `try`, would make it mandatory.
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

/** Makes the exception that refuses a message of a microservice. @throws Error if `@nestjs/microservices` cannot be loaded */
export function rpcException(body: object): Error {
  return new (loaded ??= load())(body);
}
