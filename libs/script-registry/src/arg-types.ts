import { isUint8Array } from 'node:util/types';
import { InvalidInputError } from './script-registry.errors';
import { shown } from '../../internal/src';

/** Type of a script's argument. Checks a value, and encodes it for Redis. */
export interface ArgType<T> {
  /** Name of the type: `int`, `str` or `bytes`. Two scripts conflict if they have the same name, but different types of arguments. */
  readonly label: string;
  /**
   * Checks a value, and returns it as an element of ARGV: text, which is sent as UTF-8, or bytes.
   *
   * @param name name of the argument in errors, such as `"limit" of the script rate-limit.consume`
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
        `Argument ${name} is ${shown(value)}. Expected an integer from -(2^53 - 1) to 2^53 - 1, because the script declares the argument as \`int\`.`,
        { code: 'INVALID_CALL' },
      );
    }
    return String(value);
  },
};

/** A string argument: any well-formed Unicode text. It may be empty. */
export const str: ArgType<string> = {
  label: 'str',
  encode(value, name) {
    if (typeof value !== 'string') {
      throw new InvalidInputError(`Argument ${name} is ${shown(value)}. Expected a string.`, { code: 'INVALID_CALL' });
    }
    if (!value.isWellFormed()) {
      throw new InvalidInputError(
        `Argument ${name} is ${shown(value)}. Expected well-formed Unicode: the text has a half of a surrogate ` +
          'pair, which Redis would store as another character.',
        { code: 'INVALID_CALL' },
      );
    }
    return value;
  },
};

/**
 * A bytes argument: a `Buffer` or another `Uint8Array`. It may be empty. Lua gets exactly these bytes. The call copies them, so you may
 * change the array after you have made the call.
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

/**
 * Returns the type of an argument that takes any number of values of the type `item`. Only the last argument may have it. In Lua, the
 * values are in ARGV from the argument's index to `#ARGV`.
 */
export function list<T>(item: ArgType<T>): ListType<T> {
  return { label: `list(${item.label})`, item };
}
