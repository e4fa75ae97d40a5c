import { textOf, toNumber } from './operators';
import { position, raise, raiseAt } from './position';
import { LuaTable } from './table';
import { typeOf, type LuaFunction, type LuaValue } from './values';

/**
 * Arguments of a Lua library function. The methods check an argument, numbered from 1, and throw the same error as Lua for an invalid one.
 */
export class Arguments {
  constructor(readonly values: readonly LuaValue[]) {}

  text(number: number): string {
    const text = textOf(this.values[number - 1]);
    if (text === undefined) throw this.wrong(number, 'string');
    return text;
  }

  number(number: number): number {
    const value = toNumber(this.values[number - 1]);
    if (value === undefined) throw this.wrong(number, 'number');
    return value;
  }

  /** Returns an argument as an integer, converted as C does. @param otherwise default if the argument is missing */
  integer(number: number, otherwise?: number): number {
    if (otherwise !== undefined && this.values[number - 1] === undefined) return otherwise;
    return integerOf(this.number(number));
  }

  /** Returns an argument as a 32-bit integer (int of C). @param otherwise default if the argument is missing */
  int(number: number, otherwise?: number): number {
    return this.integer(number, otherwise) | 0;
  }

  table(number: number): LuaTable {
    const value = this.values[number - 1];
    if (!(value instanceof LuaTable)) throw this.wrong(number, 'table');
    return value;
  }

  function(number: number): LuaFunction {
    const value = this.values[number - 1];
    if (typeof value !== 'function') throw this.wrong(number, 'function');
    return value;
  }

  /** Returns an argument that must be a table, and that scripts may change. */
  ownTable(number: number): LuaTable {
    const table = this.table(number);
    // The table would be changed inside the library function, so the error has no line of the script.
    if (table.readOnly) throw raiseAt(0, 'Attempt to modify a readonly table');
    return table;
  }

  any(number: number): LuaValue {
    if (this.values.length < number) throw this.invalid(number, 'value expected');
    return this.values[number - 1];
  }

  /** Returns Lua's error for an invalid argument. It contains the name by which the script has called the function. */
  invalid(number: number, text: string): Error {
    const [, kind, name = '?'] = /^(\w+) '(.*)'$/.exec(position.name) ?? [];
    if (kind !== 'method') return raise(`bad argument #${number} to '${name}' (${text})`);
    return raise(
      number === 1 ? `calling '${name}' on bad self (${text})` : `bad argument #${number - 1} to '${name}' (${text})`,
    );
  }

  private wrong(number: number, expected: string): Error {
    const got = number > this.values.length ? 'no value' : typeOf(this.values[number - 1]);
    return this.invalid(number, `${expected} expected, got ${got}`);
  }
}

/** Makes a Lua function from a function that gets its arguments as Arguments. */
export function libraryFunction(run: (args: Arguments) => ReturnType<LuaFunction>): LuaFunction {
  return (...values) => run(new Arguments(values));
}

/** Returns a table of functions and values that scripts cannot change. */
export function library(
  functions: Readonly<Record<string, (args: Arguments) => ReturnType<LuaFunction>>>,
  values: Readonly<Record<string, LuaValue>> = {},
): LuaTable {
  const table = new LuaTable();
  for (const [name, run] of Object.entries(functions)) table.set(name, libraryFunction(run));
  for (const [name, value] of Object.entries(values)) table.set(name, value);
  table.readOnly = true;
  return table;
}

/** Converts a number to a 64-bit integer as C does on x86. A number that is out of range becomes the lowest integer. */
function integerOf(value: number): number {
  return Math.abs(value) < 2 ** 63 ? Math.trunc(value) || 0 : -(2 ** 63);
}
