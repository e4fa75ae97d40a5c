import { textOf, toNumber } from './operators';
import { position, raise, raiseAt } from './position';
import { LuaTable } from './table';
import { typeOf, type LuaFunction, type LuaValue } from './values';

/** Checks arguments of one library function, and raises Lua's own errors for wrong ones. */
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

  /** Returns a number as C converts it to an integer. */
  integer(number: number, otherwise?: number): number {
    if (otherwise !== undefined && this.values[number - 1] === undefined) return otherwise;
    return integerOf(this.number(number));
  }

  /** The same for an argument that C keeps in 32 bits. */
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

  /** Returns a table that may be changed. */
  ownTable(number: number): LuaTable {
    const table = this.table(number);
    // Without a position, since it is not the script's own code that would change it.
    if (table.readOnly) throw raiseAt(0, 'Attempt to modify a readonly table');
    return table;
  }

  any(number: number): LuaValue {
    if (this.values.length < number) throw this.invalid(number, 'value expected');
    return this.values[number - 1];
  }

  /** Returns Lua's error of a wrong argument, with the name by which the script called the function. */
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

/** Returns a function of Lua that is given its checked arguments. */
export function libraryFunction(run: (args: Arguments) => ReturnType<LuaFunction>): LuaFunction {
  return (...values) => run(new Arguments(values));
}

/** Returns a table of functions that scripts cannot change. */
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

/** A number as C converts it to an integer on x86: the lowest one if it is out of range. */
function integerOf(value: number): number {
  return Math.abs(value) < 2 ** 63 ? Math.trunc(value) || 0 : -(2 ** 63);
}
