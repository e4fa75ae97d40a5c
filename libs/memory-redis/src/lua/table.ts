import { raiseAt } from './position';
import { TableNodes } from './table-nodes';
import type { AnyTable, LuaValue } from './values';

/**
 * A Lua table: an array for the keys from 1 on, and nodes for all other keys.
 *
 * Both have the same sizes as in Lua 5.1, and grow at the same moments, because this determines the result of `#` for a list with holes,
 * and the order of pairs().
 */
export class LuaTable implements AnyTable {
  readonly isTable = true;
  metatable: LuaTable | undefined;
  /** True if scripts cannot change the table, such as the table of a library. */
  readOnly = false;
  private array: LuaValue[];
  private nodes: TableNodes;

  /** @param arraySize number of keys from 1 that the array has room for @param nodeCount number of other keys to have room for */
  constructor(arraySize = 0, nodeCount = 0) {
    this.array = emptyArray(arraySize);
    this.nodes = new TableNodes(nodeCount);
  }

  /** Creates a table with values at the keys 1, 2, 3, ... Its sizes are as if the values had been set one by one. */
  static from(values: readonly LuaValue[]): LuaTable {
    const table = new LuaTable();
    let size = 1;
    while (size < values.length) size *= 2;
    if (values.length > 0) table.resize(size, 0);
    for (const [index, value] of values.entries()) table.array[index] = value;
    return table;
  }

  /** Length of the table as `#` returns it: an index with a value whose next index has none; 0 for an empty table. */
  get length(): number {
    const { array } = this;
    if (array.length === 0 || array[array.length - 1] !== undefined) {
      return this.nodes.size === 0 ? array.length : this.searchBeyond(array.length);
    }
    return this.search(0, array.length);
  }

  get(key: LuaValue): LuaValue {
    return typeof key === 'number' && this.isInArray(key) ? this.array[key - 1] : this.nodes.get(key);
  }

  /** Sets the value of a key. The caller must refuse nil and NaN as keys. */
  set(key: LuaValue, value: LuaValue): void {
    if (typeof key === 'number' && this.isInArray(key)) {
      this.array[key - 1] = value;
      return;
    }
    if (this.nodes.replace(key, value) || this.nodes.insert(key, value)) return;
    this.rehash(key);
    this.set(key, value);
  }

  /** Enlarges the array to a size, as the list of a table constructor does. */
  reserve(arraySize: number): void {
    if (arraySize > this.array.length) this.resize(arraySize, this.nodes.size);
  }

  /** Returns the key after `key` in the order of pairs(), with its value; undefined at the end. @param key undefined for the first key */
  next(key: LuaValue): [LuaValue, LuaValue] | undefined {
    for (let index = this.indexAfter(key); index < this.array.length + this.nodes.size; index++) {
      if (index < this.array.length) {
        const value = this.array[index];
        if (value !== undefined) return [index + 1, value];
      } else {
        const entry = this.nodes.at(index - this.array.length);
        if (entry !== undefined) return entry;
      }
    }
    return undefined;
  }

  private indexAfter(key: LuaValue): number {
    if (key === undefined) return 0;
    if (typeof key === 'number' && this.isInArray(key)) return key;
    const index = this.nodes.indexOf(key);
    if (index === undefined) throw raiseAt(0, "invalid key to 'next'");
    return this.array.length + index + 1;
  }

  private isInArray(key: number): boolean {
    return key >= 1 && key <= this.array.length && Number.isInteger(key);
  }

  /** Finds an index that has a value (or is 0) and whose next index has none, by binary search. */
  private search(from: number, to: number): number {
    let [low, high] = [from, to];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.get(middle) === undefined) high = middle;
      else low = middle;
    }
    return low;
  }

  private searchBeyond(from: number): number {
    let [low, high] = [from, from + 1];
    while (this.get(high) !== undefined) {
      low = high;
      high *= 2;
    }
    return this.search(low, high);
  }

  /**
   * Called when no node is free. Chooses new sizes, and moves all values. The new array is the largest one that would be more than half
   * full.
   */
  private rehash(added: LuaValue): void {
    const counts: number[] = [];
    let total = 1;
    const count = (key: LuaValue): void => {
      if (typeof key !== 'number' || key < 1 || key > 2 ** 26 || !Number.isInteger(key)) return;
      const slice = Math.ceil(Math.log2(key));
      counts[slice] = (counts[slice] ?? 0) + 1;
    };
    count(added);
    for (let entry = this.next(undefined); entry !== undefined; entry = this.next(entry[0])) {
      count(entry[0]);
      total++;
    }
    let [sum, arraySize, inArray] = [0, 0, 0];
    for (const [slice, keys = 0] of counts.entries()) {
      sum += keys;
      if (keys > 0 && sum > 2 ** slice / 2) [arraySize, inArray] = [2 ** slice, sum];
    }
    this.resize(arraySize, total - inArray);
  }

  private resize(arraySize: number, nodeCount: number): void {
    const { array, nodes } = this;
    this.array = emptyArray(arraySize);
    this.nodes = new TableNodes(nodeCount);
    for (const [index, value] of array.entries()) {
      if (index < arraySize) this.array[index] = value;
      else if (value !== undefined) this.set(index + 1, value);
    }
    for (let index = nodes.size - 1; index >= 0; index--) {
      const entry = nodes.at(index);
      if (entry !== undefined) this.set(...entry);
    }
  }
}

function emptyArray(size: number): LuaValue[] {
  return Array.from({ length: size }, () => undefined);
}
