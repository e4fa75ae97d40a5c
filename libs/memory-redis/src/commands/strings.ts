import { bigInteger, integer, LEAST_INTEGER, MOST_INTEGER, replyInteger } from '../numbers';
import { NOT_AN_INTEGER, OK, refuse, SYNTAX_ERROR, type Reply } from '../reply';
import { at, reads, writes, wrongNumber, type CommandTable, type Context } from './command';
import { addDecimals } from './decimals';
import { expiryOption } from './expiry';

const LONGEST = 512 * 1024 * 1024;
const TOO_LONG = 'ERR string exceeds maximum allowed size (proto-max-bulk-len)';

interface SetOptions {
  nx?: boolean;
  xx?: boolean;
  get?: boolean;
  keepTtl?: boolean;
  expiry?: readonly [unit: string, value: string];
}

function setOptions(args: readonly string[]): SetOptions {
  const options: SetOptions = {};
  for (let index = 2; index < args.length; index++) {
    const word = at(args, index).toUpperCase();
    const next = args[index + 1];
    if (word === 'NX' && options.xx !== true) options.nx = true;
    else if (word === 'XX' && options.nx !== true) options.xx = true;
    else if (word === 'GET') options.get = true;
    else if (word === 'KEEPTTL' && options.expiry === undefined) options.keepTtl = true;
    else if (
      /^(?:EX|PX|EXAT|PXAT)$/.test(word) &&
      options.keepTtl !== true &&
      isFirst(options.expiry, word) &&
      next !== undefined
    ) {
      options.expiry = [word, next];
      index++;
    } else refuse(SYNTAX_ERROR);
  }
  return options;
}

/** Returns false if an earlier option of the command has another unit, as in `EX 1 PX 1000`. */
function isFirst(expiry: readonly [unit: string, value: string] | undefined, unit: string): boolean {
  return expiry === undefined || expiry[0] === unit;
}

function set({ db }: Context, args: readonly string[]): Reply {
  const [key, value] = [at(args, 0), at(args, 1)];
  const { nx, xx, get, keepTtl, expiry } = setOptions(args);
  const expiresAtMs = expiry === undefined ? undefined : expiryOption(db, 'set', ...expiry);
  const old = get === true ? (db.readString(key) ?? null) : null;
  const exists = db.get(key) !== undefined;
  if ((nx === true && exists) || (xx === true && !exists)) return old;
  if (keepTtl === true) db.replace(key, value);
  else db.set(key, value, expiresAtMs);
  return get === true ? old : OK;
}

function setWithTtl(name: string, unit: 'EX' | 'PX'): ReturnType<typeof writes> {
  return writes(4, ({ db }, args) => {
    db.set(at(args, 0), at(args, 2), expiryOption(db, name, unit, at(args, 1)));
    return OK;
  });
}

/** Adds `by` to an integer. @throws RedisError if `text` is not an integer, or if the sum needs more than 64 bits */
export function increased(text: string | undefined, by: bigint, notAnInteger = NOT_AN_INTEGER): bigint {
  const sum = (text === undefined ? 0n : bigInteger(text, notAnInteger)) + by;
  return sum > MOST_INTEGER || sum < LEAST_INTEGER ? refuse('ERR increment or decrement would overflow') : sum;
}

function increase({ db }: Context, key: string, by: bigint): Reply {
  const sum = increased(db.readString(key), by);
  db.replace(key, String(sum));
  return replyInteger(sum);
}

function getEx({ db }: Context, args: readonly string[]): Reply {
  const key = at(args, 0);
  let [isPersist, expiry]: [boolean, readonly [string, string] | undefined] = [false, undefined];
  for (let index = 1; index < args.length; index++) {
    const word = at(args, index).toUpperCase();
    const next = args[index + 1];
    if (word === 'PERSIST' && expiry === undefined) isPersist = true;
    else if (/^(?:EX|PX|EXAT|PXAT)$/.test(word) && !isPersist && isFirst(expiry, word) && next !== undefined) {
      expiry = [word, next];
      index++;
    } else refuse(SYNTAX_ERROR);
  }
  const text = db.readString(key);
  if (text === undefined) return null;
  const expiresAtMs = expiry === undefined ? undefined : expiryOption(db, 'getex', ...expiry);
  if (isPersist || expiry !== undefined) db.expireAt(key, expiresAtMs);
  return text;
}

function setRange({ db }: Context, args: readonly string[]): Reply {
  const [key, offset, part] = [at(args, 0), integer(at(args, 1)), at(args, 2)];
  if (offset < 0) refuse('ERR offset is out of range');
  const text = db.readString(key);
  if (part === '') return text?.length ?? 0;
  if (offset + part.length > LONGEST) refuse(TOO_LONG);
  const padded = (text ?? '').padEnd(offset, '\0');
  const changed = padded.slice(0, offset) + part + padded.slice(offset + part.length);
  db.replace(key, changed);
  return changed.length;
}

function getRange({ db }: Context, args: readonly string[]): Reply {
  const [from, to] = [integer(at(args, 1)), integer(at(args, 2))];
  const text = db.readString(at(args, 0)) ?? '';
  if (from < 0 && to < 0 && from > to) return '';
  const index = (value: number): number => Math.max(0, value < 0 ? text.length + value : value);
  return text.slice(index(from), index(to) + 1);
}

function setMany({ db }: Context, args: readonly string[]): void {
  for (let index = 0; index < args.length; index += 2) db.set(at(args, index), at(args, index + 1));
}

export const stringCommands: CommandTable = {
  append: writes(3, ({ db }, [key = '', part = '']) => {
    const text = (db.readString(key) ?? '') + part;
    if (text.length > LONGEST) refuse(TOO_LONG);
    db.replace(key, text);
    return text.length;
  }),
  decr: writes(2, (context, args) => increase(context, at(args, 0), -1n)),
  decrby: writes(3, (context, args) => {
    const by = bigInteger(at(args, 1));
    return by === LEAST_INTEGER ? refuse('ERR decrement would overflow') : increase(context, at(args, 0), -by);
  }),
  get: reads(2, ({ db }, args) => db.readString(at(args, 0)) ?? null),
  getdel: writes(2, ({ db }, [key = '']) => {
    const text = db.readString(key) ?? null;
    db.delete(key);
    return text;
  }),
  getex: writes(-2, getEx),
  getrange: reads(4, getRange),
  getset: writes(3, ({ db }, [key = '', value = '']) => {
    const old = db.readString(key) ?? null;
    db.set(key, value);
    return old;
  }),
  incr: writes(2, (context, args) => increase(context, at(args, 0), 1n)),
  incrby: writes(3, (context, args) => increase(context, at(args, 0), bigInteger(at(args, 1)))),
  incrbyfloat: writes(3, ({ db }, [key = '', by = '']) => {
    const sum = addDecimals(db.readString(key) ?? '0', by);
    db.replace(key, sum);
    return sum;
  }),
  mget: reads(-2, ({ db }, keys) =>
    keys.map((key) => {
      const value = db.get(key);
      return typeof value === 'string' ? value : null;
    }),
  ),
  mset: writes(-3, (context, args) => {
    if (args.length % 2 !== 0) throw wrongNumber('mset');
    setMany(context, args);
    return OK;
  }),
  msetnx: writes(-3, (context, args) => {
    if (args.length % 2 !== 0) throw wrongNumber('msetnx');
    if (args.some((key, index) => index % 2 === 0 && context.db.get(key) !== undefined)) return 0;
    setMany(context, args);
    return 1;
  }),
  psetex: setWithTtl('psetex', 'PX'),
  set: writes(-3, set),
  setex: setWithTtl('setex', 'EX'),
  setnx: writes(3, ({ db }, [key = '', value = '']) => {
    if (db.get(key) !== undefined) return 0;
    db.set(key, value);
    return 1;
  }),
  setrange: writes(4, setRange),
  strlen: reads(2, ({ db }, args) => db.readString(at(args, 0))?.length ?? 0),
  substr: reads(4, getRange),
};
