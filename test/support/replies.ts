/** A reply that a test gives when it wants. */
export interface Pending<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function pending<T>(): Pending<T> {
  let settle!: Omit<Pending<T>, 'promise'>;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  return { promise, ...settle };
}

/** Returns how far a promise is: 'pending', its value, or its error. */
export async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  return Promise.race([
    promise.catch((error: unknown) => error),
    new Promise((resolve) => void setImmediate(resolve, 'pending')),
  ]);
}
