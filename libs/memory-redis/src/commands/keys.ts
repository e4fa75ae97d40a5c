import { canonicalText } from '../canonical';
import { OK, refuse, Status, SYNTAX_ERROR, type Reply } from '../reply';
import { globPattern, scan, scanOptions } from '../scan';
import { copyOfValue, typeOfValue } from '../values';
import { at, isWord, reads, writes, type CommandTable, type Context } from './command';

const NO_KEY = 'ERR no such key';

function deleteKeys({ db }: Context, keys: readonly string[]): Reply {
  return keys.filter((key) => db.delete(key)).length;
}

function countKeys({ db }: Context, keys: readonly string[]): Reply {
  return keys.filter((key) => db.get(key) !== undefined).length;
}

function flush({ db }: Context, args: readonly string[]): Reply {
  if (args.length > 1 || (args.length === 1 && !isWord(args[0], 'ASYNC') && !isWord(args[0], 'SYNC')))
    refuse(SYNTAX_ERROR);
  db.clear();
  return OK;
}

/** Copies the value and the TTL of a key to another key. */
function copyKey({ db }: Context, from: string, to: string): void {
  const value = db.get(from);
  if (value === undefined) return;
  db.set(to, copyOfValue(value), db.expiryOf(from) ?? undefined);
}

export const keyCommands: CommandTable = {
  copy: writes(-3, (context, args) => {
    const [from, to] = [at(args, 0), at(args, 1)];
    const replaces = args.length > 2;
    if (args.slice(2).some((arg) => !isWord(arg, 'REPLACE'))) refuse(SYNTAX_ERROR);
    if (from === to) refuse('ERR source and destination objects are the same');
    if (context.db.get(from) === undefined || (context.db.get(to) !== undefined && !replaces)) return 0;
    copyKey(context, from, to);
    return 1;
  }),
  dbsize: reads(1, ({ db }) => db.keys().length),
  del: writes(-2, deleteKeys),
  // The dump of equal values is equal, so that tests can compare values. Redis uses another format, and RESTORE is not supported.
  dump: reads(2, ({ db }, args) => {
    const value = db.get(at(args, 0));
    return value === undefined ? null : canonicalText(value);
  }),
  exists: reads(-2, countKeys),
  flushall: writes(-1, flush),
  flushdb: writes(-1, flush),
  keys: reads(2, ({ db }, args) => {
    const pattern = globPattern(at(args, 0));
    return db
      .keys()
      .filter((key) => pattern.test(key))
      .sort();
  }),
  randomkey: reads(1, ({ db }) => {
    const keys = db.keys().sort();
    return keys[db.random.below(keys.length)] ?? null;
  }),
  rename: writes(3, (context, args) => {
    const [from, to] = [at(args, 0), at(args, 1)];
    if (context.db.get(from) === undefined) refuse(NO_KEY);
    if (from === to) return OK;
    copyKey(context, from, to);
    context.db.delete(from);
    return OK;
  }),
  renamenx: writes(3, (context, args) => {
    const [from, to] = [at(args, 0), at(args, 1)];
    if (context.db.get(from) === undefined) refuse(NO_KEY);
    if (from === to || context.db.get(to) !== undefined) return 0;
    copyKey(context, from, to);
    context.db.delete(from);
    return 1;
  }),
  scan: reads(-2, ({ db }, args) => {
    const { type } = scanOptions(args, true);
    // The options are pairs after the cursor. A pattern may be the word "type", too.
    const isType = (index: number): boolean => index % 2 === 1 && isWord(args[index], 'TYPE');
    const options = args.filter((_, index) => !isType(index) && !isType(index - 1));
    const { cursor, page, matches } = scan(db.keys(), (key) => key, options, false);
    const isOfType = (key: string): boolean => {
      const value = db.get(key);
      return value !== undefined && (type === undefined || typeOfValue(value) === type);
    };
    return [cursor, page.filter((key) => matches(key) && isOfType(key))];
  }),
  touch: reads(-2, countKeys),
  type: reads(2, ({ db }, args) => {
    const value = db.get(at(args, 0));
    return new Status(value === undefined ? 'none' : typeOfValue(value));
  }),
  unlink: writes(-2, deleteKeys),
};
