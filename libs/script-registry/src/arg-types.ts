import { isUint8Array } from 'node:util/types';
import { InvalidCallError } from './script-registry.errors';
import { shown } from '../../internal/src';

/** How one argument of a script is checked and written. */
export interface ArgType<T> {
  /** Name of the type in error messages: `int`, `str`, `bytes`. */
  readonly label: string;
  /** Whether calls that leave together mostly have the same value, see `common`. */
  readonly common?: true;
  /**
   * Writes a value as Lua gets it in ARGV: text, which is sent as UTF-8, or bytes.
   *
   * @throws InvalidCallError when the value is not of this type; `name` is the argument's name
   */
  encode(value: T, name: string): string | Buffer;
}

/** An argument that takes any number of values; only the last argument of a script may be one. */
export interface ListType<T> {
  readonly label: string;
  readonly item: ArgType<T>;
}

/** An integer argument: -(2^53 - 1) to 2^53 - 1, written in decimal digits. */
export const int: ArgType<number> = {
  label: 'int',
  encode(value, name) {
    if (!Number.isSafeInteger(value)) {
      throw new InvalidCallError(
        `Argument "${name}" is ${shown(value)}. Expected an integer from -(2^53 - 1) to 2^53 - 1. Round it, or send it as a str.`,
      );
    }
    // -0 would be written "0" by String() as well, so no sign is lost that Lua could see.
    return String(value);
  },
};

/** A string argument: any text that UTF-8 can carry, the empty string included. */
export const str: ArgType<string> = {
  label: 'str',
  encode(value, name) {
    if (typeof value !== 'string' || !value.isWellFormed()) {
      throw new InvalidCallError(
        `Argument "${name}" is ${shown(value)}. Expected a string of well-formed Unicode. ` +
          'A lone surrogate would be stored as another character.',
      );
    }
    return value;
  },
};

/**
 * An argument of any bytes, a `Buffer` or another `Uint8Array`; empty is allowed. Lua gets exactly these bytes. They are
 * copied when the call is made, so they may be changed after that.
 */
export const bytes: ArgType<Uint8Array> = {
  label: 'bytes',
  encode(value, name) {
    if (!isUint8Array(value)) {
      throw new InvalidCallError(`Argument "${name}" is ${shown(value)}. Expected a Buffer or another Uint8Array.`);
    }
    return Buffer.from(value);
  },
};

/**
 * An argument that calls which leave together mostly have in common, such as a rule's figures beside each call's subject:
 * a group whose calls all have the same values of its common arguments sends them once. It changes no answer. For `int`
 * and `str`; bytes are never compared.
 */
export function common<T extends number | string>(type: ArgType<T>): ArgType<T> {
  return { ...type, common: true };
}

/** Any number of values of one type, as the last argument; the script reads them from its place to `#ARGV`. */
export function list<T>(item: ArgType<T>): ListType<T> {
  return { label: `list(${item.label})`, item };
}
