import { textOf, toNumber } from './operators';
import { raise } from './position';
import { LuaTable, typeOf, type LuaFunction, type LuaValue } from './values';

/** Checks arguments of one library function, and raises Lua's own errors for wrong ones. */
export class Arguments {
  constructor(
    private readonly name: string,
    readonly values: readonly LuaValue[],
  ) {}

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
    return Math.trunc(this.number(number)) || 0;
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

  any(number: number): LuaValue {
    if (this.values.length < number) throw raise(`bad argument #${number} to '${this.name}' (value expected)`);
    return this.values[number - 1];
  }

  invalid(number: number, text: string): Error {
    return raise(`bad argument #${number} to '${this.name}' (${text})`);
  }

  private wrong(number: number, expected: string): Error {
    const got = number > this.values.length ? 'no value' : typeOf(this.values[number - 1]);
    return this.invalid(number, `${expected} expected, got ${got}`);
  }
}

/** Returns a function of Lua that is given its checked arguments. */
export function libraryFunction(name: string, run: (args: Arguments) => ReturnType<LuaFunction>): LuaFunction {
  return (...values) => run(new Arguments(name, values));
}

/** Returns a table of functions that scripts cannot change. */
export function library(
  functions: Readonly<Record<string, (args: Arguments) => ReturnType<LuaFunction>>>,
  values: Readonly<Record<string, LuaValue>> = {},
): LuaTable {
  const table = new LuaTable();
  for (const [name, run] of Object.entries(functions)) table.set(name, libraryFunction(name, run));
  for (const [name, value] of Object.entries(values)) table.set(name, value);
  table.readOnly = true;
  return table;
}
