import { libraryFunction, type Arguments } from './arguments';
import { formatNumber } from './numbers';
import { fault, metamethod, operators, textOf, toNumber } from './operators';
import { callBack, position, raise, raiseAt, raiseValue } from './position';
import { LuaTable } from './table';
import {
  first,
  isTrue,
  LuaError,
  NULL_POINTER,
  spread,
  typeOf,
  type LuaFunction,
  type LuaResult,
  type LuaValue,
} from './values';

let addresses = 0;
const known = new WeakMap<object, string>();

/** Converts any value to text, as tostring() does. */
export function toText(value: LuaValue): string {
  const handler = metamethod(value, '__tostring');
  if (typeof handler === 'function') return textOf(first(callBack(handler, value))) ?? '';
  if (value === undefined) return 'nil';
  if (value === NULL_POINTER) return 'userdata: (nil)';
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

/** Metatable of all strings. Lua has only one for all of them. */
const TEXT_METATABLE = new LuaTable();

/** Sets the functions that strings have as methods, as in `text:upper()`. */
export function setMethodsOfText(methods: LuaTable): void {
  operators.strings = methods;
  TEXT_METATABLE.set('__index', methods);
  TEXT_METATABLE.readOnly = true;
}

const NEXT = libraryFunction((args) => args.table(1).next(args.values[1]) ?? undefined);
const IPAIRS_STEP = libraryFunction((args) => {
  const index = args.integer(2) + 1;
  const value = args.table(1).get(index);
  return value === undefined ? undefined : [index, value];
});

/** Line of the script that raised the error which xpcall() passes to its handler; 0 if unknown. */
let raisedAtLine = 0;

const FUNCTIONS: Readonly<Record<string, (args: Arguments) => LuaResult>> = {
  // Redis' error handler. It is a global, so scripts can pass it to xpcall().
  __redis__err__handler: (args) => {
    const [problem] = args.values;
    const table = problem instanceof LuaTable ? problem : new LuaTable();
    if (table !== problem) table.set('err', `ERR ${toText(problem)}`);
    if (raisedAtLine === 0) return table;
    table.set('source', '@user_script');
    table.set('line', raisedAtLine);
    return table;
  },
  assert: (args) => {
    if (isTrue(args.any(1))) return args.values;
    throw raise(args.values[1] === undefined ? 'assertion failed!' : args.text(2));
  },
  error: (args) => {
    const [value] = args.values;
    const level = args.integer(2, 1);
    const text = textOf(value);
    if (text === undefined || level <= 0) throw raiseValue(value);
    throw raiseAt(level === 1 ? position.line : level === 2 ? position.outer : 0, text);
  },
  getmetatable: (args) => {
    const table = args.any(1);
    if (typeof table === 'string') return TEXT_METATABLE;
    if (!(table instanceof LuaTable)) return undefined;
    return table.metatable?.get('__metatable') ?? table.metatable;
  },
  ipairs: (args) => [IPAIRS_STEP, args.table(1), 0],
  pairs: (args) => [NEXT, args.table(1), undefined],
  pcall: (args) => {
    if (args.values.length === 0) return [false, undefined];
    const [called, ...values] = args.values;
    return protectedCall(called, values, (raised) => {
      // Redis' pcall() returns the field `err` of an error that is a table.
      const text = raised instanceof LuaTable ? raised.get('err') : undefined;
      return text ?? raised;
    });
  },
  rawequal: (args) => {
    args.any(2);
    return args.any(1) === args.any(2);
  },
  rawget: (args) => {
    args.any(2);
    return args.table(1).get(args.values[1]);
  },
  rawset: (args) => {
    const table = args.table(1);
    const [key, value] = [args.any(2), args.any(3)];
    args.ownTable(1);
    if (key === undefined) throw raiseAt(0, 'table index is nil');
    if (Number.isNaN(key)) throw raiseAt(0, 'table index is NaN');
    table.set(key, value);
    return table;
  },
  select: (args) => {
    const count = args.values.length;
    if (args.values[0] === '#') return count - 1;
    const index = args.integer(1);
    if (index > count) return [];
    const from = index < 0 ? count + index : index;
    if (from < 1) throw args.invalid(1, 'index out of range');
    return args.values.slice(from);
  },
  setmetatable: (args) => {
    const table = args.table(1);
    const metatable = args.values[1];
    const isGiven = args.values.length >= 2 && (metatable === undefined || metatable instanceof LuaTable);
    if (!isGiven) throw args.invalid(2, 'nil or table expected');
    if (table.metatable?.get('__metatable') !== undefined) throw raise('cannot change a protected metatable');
    args.ownTable(1).metatable = metatable;
    return table;
  },
  tonumber: (args) => {
    const base = args.integer(2, 10);
    const value = args.any(1);
    return base === 10 ? toNumber(value) : inBase(args.text(1), base, args);
  },
  tostring: (args) => {
    const value = args.any(1);
    const handler = metamethod(value, '__tostring');
    // Lua 5.1 returns the result of __tostring even if it is not a string.
    return typeof handler === 'function' ? first(callBack(handler, value)) : toText(value);
  },
  type: (args) => typeOf(args.any(1)),
  unpack: (args) => {
    const table = args.table(1);
    const [from, to] = [args.integer(2, 1), args.integer(3, table.length)];
    if (from > to) return [];
    if (to - from >= 8000) throw raise('too many results to unpack');
    return Array.from({ length: to - from + 1 }, (_, index) => table.get(from + index));
  },
  xpcall: (args) => {
    const handler = args.any(2);
    return protectedCall(args.values[0], [], (value) => {
      try {
        return first(callBack(functionOf(handler), value));
      } catch (error) {
        asLuaError(error);
        return 'error in error handling';
      }
    });
  },
};

/** Returns the functions that are global, such as pcall(). */
export function baseFunctions(): Readonly<Record<string, LuaValue>> {
  const entries = Object.entries(FUNCTIONS).map(([name, run]) => [name, libraryFunction(run)] as const);
  return { ...Object.fromEntries(entries), next: NEXT };
}

/**
 * Calls a function as pcall() does.
 *
 * @returns true and the results; after an error, false and the result of `handle` for the error
 */
function protectedCall(value: LuaValue, args: readonly LuaValue[], handle: (value: LuaValue) => LuaValue): LuaResult {
  try {
    return [true, ...spread(callBack(functionOf(value), ...args))];
  } catch (error) {
    const { value: raised, line } = asLuaError(error);
    raisedAtLine = line;
    return [false, handle(raised)];
  }
}

function functionOf(value: LuaValue): LuaFunction {
  if (typeof value === 'function') return value;
  const handler = metamethod(value, '__call');
  if (typeof handler === 'function') return (...args) => handler(value, ...args);
  return () => {
    throw raiseAt(0, `attempt to call a ${typeOf(value)} value`);
  };
}

/**
 * Converts a stack overflow, and the error for a string that is too long, to a LuaError. Any other JavaScript error is a bug of the
 * interpreter, and is thrown.
 */
export function asLuaError(error: unknown): LuaError {
  if (error instanceof LuaError) return error;
  if (error instanceof RangeError && error.message.includes('call stack'))
    return fault(position.line, 'stack overflow');
  // V8 refuses strings of more than about 2^29 characters. A server may have enough memory for them.
  if (error instanceof RangeError && error.message.includes('string length')) return new LuaError('not enough memory');
  throw error;
}

function inBase(text: string, base: number, args: Arguments): LuaValue {
  if (base < 2 || base > 36) throw args.invalid(2, 'base out of range');
  const [, sign = '', digits = ''] = /^\s*([-+]?)(\w+)\s*$/.exec(base === 16 ? text.replace(/0x/i, '') : text) ?? [];
  const allowed = '0123456789abcdefghijklmnopqrstuvwxyz'.slice(0, base);
  if (digits === '' || ![...digits.toLowerCase()].every((digit) => allowed.includes(digit))) return undefined;
  const size = Number.parseInt(digits, base);
  // C's strtoul() turns a number that is too large into the maximum, and wraps a negative number around.
  if (size >= 2 ** 64) return 2 ** 64;
  return sign === '-' && size > 0 ? 2 ** 64 - size : size;
}
