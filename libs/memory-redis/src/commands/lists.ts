import { integer, positive } from '../numbers';
import { NULL_ARRAY, OK, refuse, SYNTAX_ERROR, type Reply } from '../reply';
import { ListValue } from '../values';
import {
  at,
  firstOfKeys,
  isWord,
  reads,
  writes,
  wrongNumber,
  type Command,
  type CommandTable,
  type Context,
} from './command';

type Side = 'left' | 'right';

function itemsOf({ db }: Context, args: readonly string[]): readonly string[] {
  return db.read(at(args, 0), ListValue)?.items ?? [];
}

/** Converts the two indexes of a list command to a range: from (inclusive) and to (exclusive). Negative indexes count from the end. */
export function rangeOf(from: number, to: number, size: number): readonly [number, number] {
  const index = (value: number): number => Math.max(0, value < 0 ? size + value : value);
  const end = to < 0 ? size + to + 1 : to + 1;
  return [index(from), Math.max(0, Math.min(end, size))];
}

function push(side: Side, ifExists: boolean): Command {
  return writes(-3, ({ db }, [key = '', ...values]) => {
    if (ifExists && db.read(key, ListValue) === undefined) return 0;
    const list = db.list(key);
    if (side === 'right') list.items.push(...values);
    else list.items.unshift(...values.reverse());
    return list.size;
  });
}

function take(list: ListValue, side: Side): string | undefined {
  return side === 'left' ? list.items.shift() : list.items.pop();
}

function pop(name: string, side: Side): Command {
  return writes(-2, ({ db }, args): Reply => {
    if (args.length > 2) throw wrongNumber(name);
    const key = at(args, 0);
    const count = args.length === 2 ? positive(at(args, 1)) : undefined;
    const list = db.change(key, ListValue);
    if (list === undefined) return count === undefined ? null : NULL_ARRAY;
    const removed = Array.from({ length: Math.min(count ?? 1, list.size) }, () => take(list, side) ?? null);
    db.removeIfEmpty(key);
    return count === undefined ? (removed[0] ?? null) : removed;
  });
}

function move({ db }: Context, from: string, to: string, source: Side, target: Side): Reply {
  const list = db.change(from, ListValue);
  if (list === undefined) return null;
  const other = from === to ? list : db.list(to);
  const value = take(list, source) ?? '';
  if (target === 'left') other.items.unshift(value);
  else other.items.push(value);
  db.removeIfEmpty(from);
  return value;
}

function sideOf(word: string): Side {
  if (isWord(word, 'LEFT')) return 'left';
  return isWord(word, 'RIGHT') ? 'right' : refuse(SYNTAX_ERROR);
}

function remove({ db }: Context, [key = '', text = '', value = '']: readonly string[]): Reply {
  const count = integer(text);
  const list = db.change(key, ListValue);
  if (list === undefined) return 0;
  let left = count === 0 ? list.size : Math.abs(count);
  const size = list.size;
  const keep = (item: string): boolean => item !== value || left-- <= 0;
  list.items = count < 0 ? list.items.reverse().filter(keep).reverse() : list.items.filter(keep);
  db.removeIfEmpty(key);
  return size - list.size;
}

function insert({ db }: Context, [key = '', where = '', pivot = '', value = '']: readonly string[]): Reply {
  const offset = isWord(where, 'AFTER') ? 1 : isWord(where, 'BEFORE') ? 0 : refuse(SYNTAX_ERROR);
  const list = db.change(key, ListValue);
  if (list === undefined) return 0;
  const index = list.items.indexOf(pivot);
  if (index < 0) return -1;
  list.items.splice(index + offset, 0, value);
  return list.size;
}

function positions(context: Context, args: readonly string[]): Reply {
  let [rank, count, most]: [number, number | undefined, number] = [1, undefined, 0];
  for (let index = 2; index < args.length; index += 2) {
    const value = args[index + 1];
    if (value === undefined) refuse(SYNTAX_ERROR);
    if (isWord(args[index], 'RANK')) {
      rank = integer(value);
      if (rank === 0) {
        refuse(
          "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
        );
      }
    } else if (isWord(args[index], 'COUNT')) count = positive(value, "ERR COUNT can't be negative");
    else if (isWord(args[index], 'MAXLEN')) most = positive(value, "ERR MAXLEN can't be negative");
    else refuse(SYNTAX_ERROR);
  }
  const items = itemsOf(context, args);
  const order = rank > 0 ? [...items.keys()] : [...items.keys()].reverse();
  const searched = most === 0 ? order : order.slice(0, most);
  const found = searched.filter((index) => items[index] === at(args, 1)).slice(Math.abs(rank) - 1);
  if (count === undefined) return found[0] ?? null;
  return count === 0 ? found : found.slice(0, count);
}

export const listCommands: CommandTable = {
  lindex: reads(3, (context, args) => {
    const items = itemsOf(context, args);
    const index = items.length === 0 && context.db.get(at(args, 0)) === undefined ? 0 : integer(at(args, 1));
    return items.at(index) ?? null;
  }),
  linsert: writes(5, insert),
  llen: reads(2, (context, args) => itemsOf(context, args).length),
  lmove: writes(5, (context, args) =>
    move(context, at(args, 0), at(args, 1), sideOf(at(args, 2)), sideOf(at(args, 3))),
  ),
  lmpop: writes(-4, ({ db }, args) => {
    const { keys, side, count } = firstOfKeys(args);
    const from = sideOf(side);
    const key = keys.find((one) => db.read(one, ListValue) !== undefined);
    const list = key === undefined ? undefined : db.change(key, ListValue);
    if (key === undefined || list === undefined) return NULL_ARRAY;
    const taken = Array.from({ length: Math.min(count, list.size) }, () => take(list, from) ?? null);
    db.removeIfEmpty(key);
    return [key, taken];
  }),
  lpop: pop('lpop', 'left'),
  lpos: reads(-3, positions),
  lpush: push('left', false),
  lpushx: push('left', true),
  lrange: reads(4, (context, args) => {
    const [from, to] = [integer(at(args, 1)), integer(at(args, 2))];
    const items = itemsOf(context, args);
    return items.slice(...rangeOf(from, to, items.length));
  }),
  lrem: writes(4, remove),
  lset: writes(4, ({ db }, [key = '', text = '', value = '']) => {
    const list = db.change(key, ListValue);
    if (list === undefined) refuse('ERR no such key');
    const index = integer(text);
    const from = index < 0 ? list.size + index : index;
    if (from < 0 || from >= list.size) refuse('ERR index out of range');
    list.items[from] = value;
    return OK;
  }),
  ltrim: writes(4, ({ db }, args) => {
    const [from, to] = [integer(at(args, 1)), integer(at(args, 2))];
    const list = db.change(at(args, 0), ListValue);
    if (list === undefined) return OK;
    list.items = list.items.slice(...rangeOf(from, to, list.size));
    db.removeIfEmpty(at(args, 0));
    return OK;
  }),
  rpop: pop('rpop', 'right'),
  rpoplpush: writes(3, (context, args) => move(context, at(args, 0), at(args, 1), 'right', 'left')),
  rpush: push('right', false),
  rpushx: push('right', true),
};
