import { library, type Arguments } from './arguments';
import { operators, textOf } from './operators';
import { callBack, raise } from './position';
import type { LuaTable } from './table';
import { first, isTrue, NOTHING, typeOf, type LuaResult, type LuaValue } from './values';

type Less = (a: LuaValue, b: LuaValue) => boolean;

export function createTableLibrary(): LuaTable {
  return library({
    concat,
    foreach: (args) => forEach(args, (table, index) => table.next(index)),
    foreachi: (args) =>
      forEach(args, (table, index = 0) => {
        return (index as number) < table.length ? [(index as number) + 1, table.get((index as number) + 1)] : undefined;
      }),
    getn: (args) => args.table(1).length,
    insert,
    maxn: (args) => {
      const table = args.table(1);
      let most = 0;
      for (let entry = table.next(undefined); entry !== undefined; entry = table.next(entry[0])) {
        if (typeof entry[0] === 'number') most = Math.max(most, entry[0]);
      }
      return most;
    },
    remove,
    setn: () => {
      throw raise("'setn' is obsolete");
    },
    sort: (args) => {
      const table = args.table(1);
      const isLess = args.values[1] === undefined ? undefined : args.function(2);
      const less: Less =
        isLess === undefined ? (a, b) => operators.less(a, b, 0) : (a, b) => isTrue(first(callBack(isLess, a, b)));
      if (table.length > 1) args.ownTable(1);
      sort(table, 1, table.length, less);
      return NOTHING;
    },
  });
}

function concat(args: Arguments): LuaResult {
  const table = args.table(1);
  const separator = args.values[1] === undefined ? '' : args.text(2);
  const [from, to] = [args.int(3, 1), args.int(4, table.length)];
  const texts: string[] = [];
  for (let index = from; index <= to; index++) {
    const text = textOf(table.get(index));
    if (text === undefined) {
      throw raise(`invalid value (${typeOf(table.get(index))}) at index ${index} in table for 'concat'`);
    }
    texts.push(text);
  }
  return texts.join(separator);
}

function forEach(
  args: Arguments,
  next: (table: LuaTable, key: LuaValue) => readonly [LuaValue, LuaValue] | undefined,
): LuaResult {
  const [table, run] = [args.table(1), args.function(2)];
  for (let entry = next(table, undefined); entry !== undefined; entry = next(table, entry[0])) {
    const result = first(callBack(run, ...entry));
    if (result !== undefined) return result;
  }
  return NOTHING;
}

function insert(args: Arguments): LuaResult {
  const table = args.table(1);
  const end = table.length + 1;
  if (args.values.length === 2) {
    args.ownTable(1).set(end, args.values[1]);
    return NOTHING;
  }
  if (args.values.length !== 3) throw raise("wrong number of arguments to 'insert'");
  const position = args.int(2);
  args.ownTable(1);
  for (let index = Math.max(end, position); index > position; index--) table.set(index, table.get(index - 1));
  table.set(position, args.values[2]);
  return NOTHING;
}

function remove(args: Arguments): LuaResult {
  const table = args.table(1);
  const end = table.length;
  const position = args.int(2, end);
  if (position < 1 || position > end) return NOTHING;
  args.ownTable(1);
  const removed = table.get(position);
  for (let index = position; index < end; index++) table.set(index, table.get(index + 1));
  table.set(end, undefined);
  return removed;
}

/** Sorts with the quicksort of Lua 5.1, so that `less` gets the same calls, and an inconsistent `less` gives the same error. */
function sort(table: LuaTable, from: number, to: number, less: Less): void {
  let [low, high] = [from, to];
  while (low < high) {
    orderPair(table, low, high, less);
    if (high - low === 1) return;
    const middle = Math.floor((low + high) / 2);
    if (!orderPair(table, low, middle, less)) orderPair(table, middle, high, less);
    if (high - low === 2) return;
    const border = partition(table, low, high, middle, less);
    if (border - low < high - border) {
      sort(table, low, border - 1, less);
      low = border + 1;
    } else {
      sort(table, border + 1, high, less);
      high = border - 1;
    }
  }
}

/** Swaps two values if the second is less than the first. @returns true if it swapped them */
function orderPair(table: LuaTable, low: number, high: number, less: Less): boolean {
  const [a, b] = [table.get(low), table.get(high)];
  if (!less(b, a)) return false;
  table.set(low, b);
  table.set(high, a);
  return true;
}

/** Moves the values that are less than the value at `middle` before it, and the others after it. @returns the new index of this value */
function partition(table: LuaTable, low: number, high: number, middle: number, less: Less): number {
  const pivot = table.get(middle);
  table.set(middle, table.get(high - 1));
  table.set(high - 1, pivot);
  let [up, down] = [low, high - 1];
  for (;;) {
    while (less(table.get(++up), pivot)) if (up > high) throw raise('invalid order function for sorting');
    while (less(pivot, table.get(--down))) if (down < low) throw raise('invalid order function for sorting');
    if (down < up) break;
    const [a, b] = [table.get(up), table.get(down)];
    table.set(up, b);
    table.set(down, a);
  }
  const last = table.get(high - 1);
  table.set(high - 1, table.get(up));
  table.set(up, last);
  return up;
}
