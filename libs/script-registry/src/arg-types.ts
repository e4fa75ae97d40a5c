import { isUint8Array } from 'node:util/types';
import { InvalidInputError } from './script-registry.errors';
import { shown } from '../../internal/src';

/** Type of an argument: how a value is checked and encoded. */
export interface ArgType<T> {
  /** Name of the type: `int`, `str` or `bytes`. Definitions with different labels are different scripts. */
  readonly label: string;
  /**
   * Encodes a value for ARGV: text, which is sent as UTF-8, or bytes.
   *
   * @param name the argument as errors name it, such as `"limit" of rate-limit.consume`
   * @throws InvalidInputError if the value is not of this type
   */
  encode(value: T, name: string): string | Buffer;
}

/** Type of an argument that takes any number of values. Only the last argument of a script may have it. */
export interface ListType<T> {
  /** Name of the type, such as `list(str)`. */
  readonly label: string;
  /** Type of each value. */
  readonly item: ArgType<T>;
}

/** An integer argument, from -(2^53 - 1) to 2^53 - 1. Lua gets its decimal digits as text. */
export const int: ArgType<number> = {
  label: 'int',
  encode(value, name) {
    if (!Number.isSafeInteger(value)) {
      throw new InvalidInputError(
        `Argument ${name} is ${shown(value)}. Expected an integer from -(2^53 - 1) to 2^53 - 1, as the argument is declared as \`int\`.`,
        { code: 'INVALID_CALL' },
      );
    }
    return String(value);
  },
};

/** A string argument: any well-formed Unicode text, also an empty one. */
export const str: ArgType<string> = {
  label: 'str',
  encode(value, name) {
    if (typeof value !== 'string') {
      throw new InvalidInputError(`Argument ${name} is ${shown(value)}. Expected a string.`, { code: 'INVALID_CALL' });
    }
    if (!value.isWellFormed()) {
      throw new InvalidInputError(
        `Argument ${name} is ${shown(value)}. Expected well-formed Unicode, because Redis would store another character ` +
          'for a lone surrogate.',
        { code: 'INVALID_CALL' },
      );
    }
    return value;
  },
};

/**
 * A bytes argument: a `Buffer` or another `Uint8Array`, also an empty one. Lua gets exactly these bytes. They are copied when
 * the call is made, so you may change them afterwards.
 */
export const bytes: ArgType<Uint8Array> = {
  label: 'bytes',
  encode(value, name) {
    if (!isUint8Array(value)) {
      throw new InvalidInputError(`Argument ${name} is ${shown(value)}. Expected a Buffer or another Uint8Array.`, {
        code: 'INVALID_CALL',
      });
    }
    return Buffer.from(value);
  },
};

/** Makes the type of a last argument that takes any number of values. Lua reads them from the argument's index to `#ARGV`. */
export function list<T>(item: ArgType<T>): ListType<T> {
  return { label: `list(${item.label})`, item };
}
