import type { Model, Operation } from '../checker/history';
import { mayBeLeftOut } from '../checker/history';

export type RegisterInput = { readonly write: number } | { readonly read: true };
export type RegisterOperation = Operation<RegisterInput, number>;

/** A register: a read returns what was written last. Writes without a reply are interchangeable if they write the same. */
export const register: Model<number, RegisterOperation> = {
  start: 0,
  keyOf: String,
  reads: ({ input, output }) => 'read' in input && output !== undefined,
  classOf: ({ input }) => ('write' in input ? `write ${input.write}` : undefined),
  step: (state, { input, output }) => {
    if ('write' in input) return [input.write];
    return output === undefined || output === state ? [state] : [];
  },
};

let count = 0;

export function write(value: number, call: number, end: number): RegisterOperation {
  return { id: `write-${count++}`, call, return: end, input: { write: value }, output: 0 };
}

export function read(value: number, call: number, end: number): RegisterOperation {
  return { id: `read-${count++}`, call, return: end, input: { read: true }, output: value };
}

/** Tries all orders of all operations that took effect. */
export function bruteForce<State, Op extends Operation>(model: Model<State, Op>, operations: readonly Op[]): boolean {
  const place = (state: State, left: readonly Op[]): boolean => {
    if (left.every(mayBeLeftOut)) return true;
    return left.some((operation) => {
      const others = left.filter((one) => one !== operation);
      // Nothing that is left may have ended before this one began, unless it has no effect.
      const late = others.filter((one) => one.return < operation.call);
      if (!late.every(mayBeLeftOut)) return false;
      const rest = others.filter((one) => !late.includes(one));
      return model.step(state, operation).some((next) => place(next, rest));
    });
  };
  return place(model.start, operations);
}
