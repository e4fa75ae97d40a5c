import { library, libraryFunction, type Arguments } from './arguments';
import { formatNumber } from './numbers';
import { fault, metamethod, operators, textOf, toNumber } from './operators';
import { position, raise } from './position';
import { first, isTrue, LuaError, LuaTable, NOTHING, spread, typeOf, type LuaResult, type LuaValue } from './values';

let addresses = 0;
const known = new WeakMap<object, string>();

/** Returns the text of any value, as tostring() does. */
export function toText(value: LuaValue): string {
  const handler = metamethod(value, '__tostring');
  if (typeof handler === 'function') return textOf(first(handler(value))) ?? '';
  if (value === undefined) return 'nil';
  if (typeof value === 'object' || typeof value === 'function') {
    let address = known.get(value);
    if (address === undefined) {
      address = (0x5500_0000_0000 + 16 * ++addresses).toString(16);
      known.set(value, address);
    }
    return `${typeOf(value)}: 0x${address}`;
  }
  return typeof value === 'number' ? formatNumber(value) : String(value);
}

const NEXT = libraryFunction('next', (args) => args.table(1).next(args.values[1]) ?? undefined);

/** Functions without a table of their own. */
export function baseFunctions(): Readonly<Record<string, LuaValue>> {
  const step = libraryFunction('ipairs', (args) => {
    const index = args.integer(2) + 1;
    const value = args.table(1).get(index);
    return value === undefined ? undefined : [index, value];
  });
  const functions: Readonly<Record<string, (args: Arguments) => LuaResult>> = {
    assert: (args) => {
      if (isTrue(args.any(1))) return args.values;
      throw raiseValue(args.values.length < 2 ? 'assertion failed!' : args.values[1]);
    },
    error: (args) => {
      const [value, level = 1] = args.values;
      throw typeof value === 'string' && level !== 0 ? raise(value) : raiseValue(value);
    },
    getmetatable: (args) => {
      const table = args.any(1);
      if (!(table instanceof LuaTable)) return undefined;
      return table.metatable?.get('__metatable') ?? table.metatable;
    },
    ipairs: (args) => [step, args.table(1), 0],
    pairs: (args) => [NEXT, args.table(1), undefined],
    pcall: (args) => caught(() => operators.callee(args.any(1), '', position.line)(...args.values.slice(1))),
    rawequal: (args) => args.any(1) === args.any(2),
    rawget: (args) => args.table(1).get(args.values[1]),
    rawset: (args) => {
      const table = args.table(1);
      if (table.readOnly) throw raise('Attempt to modify a readonly table');
      table.set(args.values[1], args.values[2]);
      return table;
    },
    select: (args) => {
      if (args.values[0] === '#') return args.values.length - 1;
      const index = args.integer(1);
      if (index < 0) return args.values.slice(Math.max(1, args.values.length + index));
      if (index === 0) throw args.invalid(1, 'index out of range');
      return args.values.slice(index);
    },
    setmetatable: (args) => {
      const table = args.table(1);
      const metatable = args.values[1];
      if (metatable !== undefined && !(metatable instanceof LuaTable)) throw args.invalid(2, 'nil or table expected');
      if (table.readOnly) throw raise('Attempt to modify a readonly table');
      if (table.metatable?.get('__metatable') !== undefined) throw raise('cannot change a protected metatable');
      table.metatable = metatable;
      return table;
    },
    tonumber: (args) => {
      const base = args.integer(2, 10);
      const value = args.any(1);
      return base === 10 ? toNumber(value) : inBase(args.text(1), base, args);
    },
    tostring: (args) => toText(args.any(1)),
    type: (args) => typeOf(args.any(1)),
    unpack: (args) => {
      const table = args.table(1);
      const [from, to] = [args.integer(2, 1), args.integer(3, table.length)];
      if (to - from >= 8000) throw raise('too many results to unpack');
      const values: LuaValue[] = [];
      for (let index = from; index <= to; index++) values.push(table.get(index));
      return values;
    },
    xpcall: (args) =>
      caught(
        () => args.function(1)(),
        (value) => first(args.function(2)(value)),
      ),
  };
  const entries = Object.entries(functions).map(([name, run]) => [name, libraryFunction(name, run)] as const);
  return { ...Object.fromEntries(entries), next: NEXT };
}

function raiseValue(value: LuaValue): LuaError {
  const error = new LuaError(value);
  error.line = position.line;
  return error;
}

/** Returns true and the results of a call, or false and what it raised. */
function caught(call: () => LuaResult, handle: (value: LuaValue) => LuaValue = (value) => value): LuaResult {
  try {
    return [true, ...spread(call())];
  } catch (error) {
    return [false, handle(asLuaError(error).value)];
  }
}

/** Returns an error of Lua. A stack of JavaScript that is full is one; any other error is a defect of the interpreter. */
export function asLuaError(error: unknown): LuaError {
  if (error instanceof LuaError) return error;
  if (error instanceof RangeError && error.message.includes('call stack')) return fault(position.line, 'stack overflow');
  throw error;
}

function inBase(text: string, base: number, args: Arguments): LuaValue {
  if (base < 2 || base > 36) throw args.invalid(2, 'base out of range');
  const trimmed = text.trim().toLowerCase().replace(base === 16 ? /^0x/ : /^(?!)/, '');
  const digits = '0123456789abcdefghijklmnopqrstuvwxyz'.slice(0, base);
  const isNumber = trimmed !== '' && [...trimmed].every((digit) => digits.includes(digit));
  return isNumber ? Number.parseInt(trimmed, base) : undefined;
}

export function createTableLibrary(): LuaTable {
  return library({
    concat: (args) => {
      const table = args.table(1);
      const separator = args.values[1] === undefined ? '' : args.text(2);
      const [from, to] = [args.integer(3, 1), args.integer(4, table.length)];
      const texts: string[] = [];
      for (let index = from; index <= to; index++) {
        const text = textOf(table.get(index));
        if (text === undefined) {
          throw raise(`invalid value (${typeOf(table.get(index))}) at index ${index} in table for 'concat'`);
        }
        texts.push(text);
      }
      return texts.join(separator);
    },
    getn: (args) => args.table(1).length,
    insert: (args) => {
      const table = args.table(1);
      if (table.readOnly) throw raise('Attempt to modify a readonly table');
      if (args.values.length === 2) table.set(table.length + 1, args.values[1]);
      else if (args.values.length === 3) table.insert(args.integer(2), args.values[2]);
      else throw raise("wrong number of arguments to 'insert'");
      return NOTHING;
    },
    maxn: (args) => {
      const table = args.table(1);
      let most = 0;
      for (let entry = table.next(undefined); entry !== undefined; entry = table.next(entry[0])) {
        most = typeof entry[0] === 'number' ? Math.max(most, entry[0]) : most;
      }
      return most;
    },
    remove: (args) => {
      const table = args.table(1);
      return table.length === 0 ? NOTHING : table.remove(args.integer(2, table.length));
    },
    sort: (args) => {
      const table = args.table(1);
      const isLess = args.values[1] === undefined ? undefined : args.function(2);
      const less = (a: LuaValue, b: LuaValue): boolean =>
        isLess === undefined ? operators.less(a, b, position.line) : isTrue(first(isLess(a, b)));
      const sorted = table.values().toSorted((a, b) => (less(a, b) ? -1 : less(b, a) ? 1 : 0));
      for (const [index, value] of sorted.entries()) table.set(index + 1, value);
      return NOTHING;
    },
  });
}
