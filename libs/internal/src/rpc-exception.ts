type ExceptionClass = new (body: object) => Error;

let loaded: ExceptionClass | undefined;

function load(): ExceptionClass {
  // Of an optional peer: an import would demand it of everybody, and so would a bundler for a require outside of `try`.
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

/** What refuses a message of a microservice. @throws Error without `@nestjs/microservices`, which is where messages come from */
export function rpcException(body: object): Error {
  return new (loaded ??= load())(body);
}
