/** A value of Lua. nil is undefined. A string has one character for each byte. Several values are an array of JavaScript. */
export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction;
/** What a function of Lua returns: one value as it is, none or several as an array. */
export type LuaResult = LuaValue | readonly LuaValue[];
export type LuaFunction = (...args: LuaValue[]) => LuaResult;

export const NOTHING: readonly LuaValue[] = [];

/** An error that Lua raised: error(), redis.call() or a fault such as arithmetic on nil. */
export class LuaError extends Error {
  /** Line of the script at which it was raised; 0 if unknown. */
  line = 0;

  /** @param value what pcall() returns; a text has its position already */
  constructor(readonly value: LuaValue) {
    super(typeof value === 'string' ? value : 'an error object of Lua');
  }
}

/** A table of Lua: values at 1, 2, 3, ... in an array, others in a map. */
export class LuaTable {
  metatable: LuaTable | undefined;
  readOnly = false;
  private keys: LuaValue[] | undefined;
  private positions: Map<LuaValue, number> | undefined;

  /**
   * @param array values at 1, 2, 3, ...; the table takes it over
   * @param map all other values; a key that was removed stays with undefined, so that next() finds where it was
   */
  constructor(
    private readonly array: LuaValue[] = [],
    private map?: Map<LuaValue, LuaValue>,
  ) {
    this.trim();
  }

  /** Length as # returns it: an index with a value of which the next index has none. */
  get length(): number {
    return this.array.length;
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === 'number') {
      const value = this.array[key - 1];
      if (value !== undefined) return value;
    }
    return this.map?.get(key);
  }

  /** Sets a value. A key of nil or NaN is the caller's error and is to be refused before. */
  set(key: LuaValue, value: LuaValue): void {
    const { array } = this;
    if (typeof key === 'number' && key >= 1 && key <= array.length + 1 && Number.isInteger(key)) {
      if (key <= array.length) {
        array[key - 1] = value;
        if (value === undefined) this.trim();
      } else if (value !== undefined) {
        array.push(value);
        this.map?.delete(key);
        this.moveFromMap();
        this.keys = undefined;
      } else {
        this.forget(key);
      }
      return;
    }
    if (value === undefined) {
      this.forget(key);
      return;
    }
    this.map ??= new Map();
    if (!this.map.has(key)) this.keys = undefined;
    this.map.set(key, value);
  }

  /** Returns the key after `key` and its value; undefined at the end. @param key undefined for the first */
  next(key: LuaValue): [LuaValue, LuaValue] | undefined {
    if (this.keys === undefined || this.positions === undefined) {
      this.keys = [...this.array.keys()].map((index) => index + 1 as LuaValue).concat([...(this.map?.keys() ?? [])]);
      this.positions = new Map(this.keys.map((one, position) => [one, position]));
    }
    let position = key === undefined ? 0 : this.positions.get(key);
    if (position === undefined) throw new LuaError("invalid key to 'next'");
    if (key !== undefined) position++;
    for (; position < this.keys.length; position++) {
      const found = this.keys[position];
      const value = this.get(found);
      if (value !== undefined) return [found, value];
    }
    return undefined;
  }

  insert(position: number, value: LuaValue): void {
    if (position < 1 || position > this.array.length + 1 || value === undefined) {
      for (let index = this.length; index >= position; index--) this.set(index + 1, this.get(index));
      this.set(position, value);
      return;
    }
    this.array.splice(position - 1, 0, value);
    this.moveFromMap();
    this.keys = undefined;
  }

  remove(position: number): LuaValue {
    const size = this.array.length;
    if (position < 1 || position > size) return undefined;
    const [removed] = this.array.splice(position - 1, 1);
    this.trim();
    this.keys = undefined;
    return removed;
  }

  /** Returns the values at 1 to #, for sort() and concat(). */
  values(): readonly LuaValue[] {
    return this.array;
  }

  private forget(key: LuaValue): void {
    if (this.map?.has(key) === true) this.map.set(key, undefined);
  }

  private trim(): void {
    const { array } = this;
    while (array.length > 0 && array[array.length - 1] === undefined) array.pop();
  }

  private moveFromMap(): void {
    const { map } = this;
    if (map === undefined) return;
    for (let key = this.array.length + 1; ; key++) {
      const value = map.get(key);
      if (value === undefined) return;
      map.delete(key);
      this.array.push(value);
    }
  }
}

/** Returns the first of several values; undefined if there is none. */
export function first(result: LuaResult): LuaValue {
  return isSeveral(result) ? result[0] : result;
}

/** Returns the values of a result as an array. */
export function spread(result: LuaResult): readonly LuaValue[] {
  return isSeveral(result) ? result : [result];
}

function isSeveral(result: LuaResult): result is readonly LuaValue[] {
  return Array.isArray(result);
}

export function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

export function typeOf(value: LuaValue): string {
  if (value === undefined) return 'nil';
  return value instanceof LuaTable ? 'table' : typeof value;
}
