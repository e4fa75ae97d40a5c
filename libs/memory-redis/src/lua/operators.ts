import { formatNumber, parseNumber } from './numbers';
import { position } from './position';
import { LuaTable } from './table';
import { checkTimeLimit } from './time-limit';
import { first, isTrue, LuaError, typeOf, type LuaFunction, type LuaResult, type LuaValue } from './values';

/**
 * Functions that compiled scripts call for Lua's operators. `name` is the name of an operand for error messages, such as "local 'x'", or
 * ''. `line` is the line of the script.
 */
export const operators = {
  index(object: LuaValue, key: LuaValue, name: string, line: number): LuaValue {
    if (object instanceof LuaTable) {
      const value = object.get(key);
      if (value !== undefined || object.metatable === undefined) return value;
      return viaMetatable(object, key, line);
    }
    if (typeof object === 'string') return operators.strings.get(key);
    throw fault(line, `attempt to index ${described(object, name)}`);
  },

  /** Table with the string functions, which all strings have as methods. */
  strings: new LuaTable(),

  setIndex(object: LuaValue, key: LuaValue, value: LuaValue, name: string, line: number): void {
    if (!(object instanceof LuaTable)) throw fault(line, `attempt to index ${described(object, name)}`);
    if (object.readOnly) throw fault(line, 'Attempt to modify a readonly table');
    const handler = object.metatable === undefined ? undefined : object.metatable.get('__newindex');
    if (handler !== undefined && object.get(key) === undefined) {
      if (typeof handler === 'function') handler(object, key, value);
      else operators.setIndex(handler, key, value, '', line);
      return;
    }
    if (key === undefined) throw fault(line, 'table index is nil');
    if (Number.isNaN(key)) throw fault(line, 'table index is NaN');
    object.set(key, value);
  },

  /** Calls a value. @param outer line at which the function that makes this call was called */
  call(value: LuaValue, name: string, line: number, outer: number, ...args: LuaValue[]): LuaResult {
    const called = typeof value === 'function' ? value : callable(value, name, line);
    position.line = line;
    position.name = name;
    position.calledFrom = line;
    position.outer = outer;
    if (--position.steps < 0) checkTimeLimit(line);
    return called(...args);
  },

  /** Calls a value in a return statement (tail call). Lua then forgets the calling function, so `calledFrom` is 0. */
  tailCall(value: LuaValue, name: string, line: number, outer: number, ...args: LuaValue[]): LuaResult {
    const called = typeof value === 'function' ? value : callable(value, name, line);
    position.line = line;
    position.name = name;
    position.calledFrom = 0;
    position.outer = outer;
    if (--position.steps < 0) checkTimeLimit(line);
    return called(...args);
  },

  /** Stops a script that runs for too long. Called after a fixed number of loop rounds and calls. */
  checkTimeLimit,

  add: (a: LuaValue, b: LuaValue, left: string, right: string, line: number): LuaValue =>
    typeof a === 'number' && typeof b === 'number' ? a + b : arithmetic('+', a, b, left, right, line),
  subtract: (a: LuaValue, b: LuaValue, left: string, right: string, line: number): LuaValue =>
    typeof a === 'number' && typeof b === 'number' ? a - b : arithmetic('-', a, b, left, right, line),
  multiply: (a: LuaValue, b: LuaValue, left: string, right: string, line: number): LuaValue =>
    typeof a === 'number' && typeof b === 'number' ? a * b : arithmetic('*', a, b, left, right, line),
  divide: (a: LuaValue, b: LuaValue, left: string, right: string, line: number): LuaValue =>
    typeof a === 'number' && typeof b === 'number' ? a / b : arithmetic('/', a, b, left, right, line),
  modulo: (a: LuaValue, b: LuaValue, left: string, right: string, line: number): LuaValue =>
    arithmetic('%', a, b, left, right, line),
  power: (a: LuaValue, b: LuaValue, left: string, right: string, line: number): LuaValue =>
    arithmetic('^', a, b, left, right, line),

  negate(a: LuaValue, name: string, line: number): LuaValue {
    const number = toNumber(a);
    if (number !== undefined) return -number;
    const handler = metamethod(a, '__unm');
    if (typeof handler === 'function') return first(handler(a, a));
    throw fault(line, `attempt to perform arithmetic on ${described(a, name)}`);
  },

  length(a: LuaValue, name: string, line: number): LuaValue {
    if (a instanceof LuaTable || typeof a === 'string') return a.length;
    throw fault(line, `attempt to get length of ${described(a, name)}`);
  },

  concat(a: LuaValue, b: LuaValue, leftName: string, rightName: string, line: number): LuaValue {
    if (typeof a === 'string' && typeof b === 'string') return a + b;
    const left = textOf(a);
    const right = textOf(b);
    if (left !== undefined && right !== undefined) return left + right;
    const handler = metamethod(a, '__concat') ?? metamethod(b, '__concat');
    if (typeof handler === 'function') return first(handler(a, b));
    const wrong = left === undefined ? described(a, leftName) : described(b, rightName);
    throw fault(line, `attempt to concatenate ${wrong}`);
  },

  equal(a: LuaValue, b: LuaValue): boolean {
    if (a === b) return true;
    if (!(a instanceof LuaTable) || !(b instanceof LuaTable)) return false;
    const handler = a.metatable?.get('__eq');
    return typeof handler === 'function' && handler === b.metatable?.get('__eq') && isTrue(first(handler(a, b)));
  },

  less(a: LuaValue, b: LuaValue, line: number): boolean {
    if (typeof a === 'number' && typeof b === 'number') return a < b;
    if (typeof a === 'string' && typeof b === 'string') return a < b;
    return compared('__lt', a, b, line);
  },

  lessOrEqual(a: LuaValue, b: LuaValue, line: number): boolean {
    if (typeof a === 'number' && typeof b === 'number') return a <= b;
    if (typeof a === 'string' && typeof b === 'string') return a <= b;
    return compared('__le', a, b, line);
  },

  /** Checks the initial value, the limit and the step of a numeric for loop, and returns them. */
  forNumbers(values: readonly LuaValue[], line: number): readonly number[] {
    return FOR_PARTS.map((part, index) => {
      const number = toNumber(values[index]);
      if (number === undefined) throw fault(line, `'for' ${part} must be a number`);
      return number;
    });
  },

  /** Creates the table of a table constructor, with the sizes that Lua allocates. */
  newTable(items: number, pairs: number): LuaTable {
    return new LuaTable(roundedSize(items), roundedSize(pairs));
  },

  /** Sets a key of a table constructor, such as `x` in `{ x = 1 }`. */
  setPair(table: LuaTable, key: LuaValue, value: LuaValue, line: number): void {
    if (key === undefined) throw fault(line, 'table index is nil');
    if (Number.isNaN(key)) throw fault(line, 'table index is NaN');
    table.set(key, value);
  },

  /** Returns the table `arg` of a function with varargs. */
  varargsTable(values: readonly LuaValue[]): LuaTable {
    const table = LuaTable.from(values);
    table.set('n', values.length);
    return table;
  },

  /** Sets the list of a table constructor, such as `{ 1, 2 }`, at the keys 1, 2, 3, ... */
  fill(table: LuaTable, list: readonly LuaValue[]): LuaTable {
    table.reserve(list.length);
    for (const [index, value] of list.entries()) table.set(index + 1, value);
    return table;
  },
};

const FOR_PARTS = ['initial value', 'limit', 'step'];

/** Rounds up a size as Lua's table constructors do. They store it in one byte, as a floating-point number with a mantissa of 3 bits. */
function roundedSize(size: number): number {
  let [digits, exponent] = [size, 0];
  while (digits >= 16) {
    digits = Math.floor((digits + 1) / 2);
    exponent++;
  }
  return digits * 2 ** exponent;
}

function callable(value: LuaValue, name: string, line: number): LuaFunction {
  const handler = metamethod(value, '__call');
  if (typeof handler === 'function') return (...args) => handler(value, ...args);
  throw fault(line, `attempt to call ${described(value, name)}`);
}

/** Returns an error that begins with a line of the script, as Lua's own errors do. Line 0 means no line, for a library function. */
export function fault(line: number, text: string): LuaError {
  const error = new LuaError(line === 0 ? text : `user_script:${line}: ${text}`);
  error.line = line === 0 ? position.line : line;
  return error;
}

/** Converts a number or a numeric string to a number; returns undefined for other values. */
export function toNumber(value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? parseNumber(value) : undefined;
}

/** Converts a string or a number to a string; returns undefined for other values. */
export function textOf(value: LuaValue): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? formatNumber(value) : undefined;
}

export function metamethod(value: LuaValue, name: string): LuaValue {
  return value instanceof LuaTable ? value.metatable?.get(name) : undefined;
}

export const CALCULATIONS: Readonly<Record<string, { event: string; calculate: (a: number, b: number) => number }>> = {
  '+': { event: '__add', calculate: (a, b) => a + b },
  '-': { event: '__sub', calculate: (a, b) => a - b },
  '*': { event: '__mul', calculate: (a, b) => a * b },
  '/': { event: '__div', calculate: (a, b) => a / b },
  '%': { event: '__mod', calculate: (a, b) => a - Math.floor(a / b) * b },
  '^': { event: '__pow', calculate: power },
};

/** Computes a power as C's pow() does: 1 to any power is 1, also to NaN, and -1 to an infinite power is 1. */
export function power(a: number, b: number): number {
  return a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b;
}

function arithmetic(
  operator: string,
  a: LuaValue,
  b: LuaValue,
  leftName: string,
  rightName: string,
  line: number,
): LuaValue {
  const { event = '', calculate } = CALCULATIONS[operator] ?? {};
  const left = toNumber(a);
  const right = toNumber(b);
  if (left !== undefined && right !== undefined && calculate !== undefined) return calculate(left, right);
  const handler = metamethod(a, event) ?? metamethod(b, event);
  if (typeof handler === 'function') return first(handler(a, b));
  const wrong = left === undefined ? described(a, leftName) : described(b, rightName);
  throw fault(line, `attempt to perform arithmetic on ${wrong}`);
}

function compared(event: string, a: LuaValue, b: LuaValue, line: number): boolean {
  const handler = metamethod(a, event);
  if (typeof handler === 'function' && handler === metamethod(b, event)) return isTrue(first(handler(a, b)));
  const [left, right] = [typeOf(a), typeOf(b)];
  const kinds = left === right ? `two ${left} values` : `${left} with ${right}`;
  throw fault(line, `attempt to compare ${kinds}`);
}

function viaMetatable(object: LuaTable, key: LuaValue, line: number): LuaValue {
  const handler = object.metatable?.get('__index');
  if (handler === undefined) return undefined;
  if (typeof handler !== 'function') return operators.index(handler, key, '', line);
  position.line = line;
  position.name = '';
  position.calledFrom = line;
  return first(handler(object, key));
}

function described(value: LuaValue, name: string): string {
  const kind = `a ${typeOf(value)} value`;
  return name === '' ? kind : `${name} (${kind})`;
}
