import { bigInteger, replyInteger } from '../numbers';
import { OK, Pairs, Rows, type Reply } from '../reply';
import { readCursor, scan } from '../scan';
import { HashValue } from '../values';
import { at, randomOf, reads, writes, wrongNumber, type CommandTable, type Context } from './command';
import { addDecimals } from './decimals';
import { increased } from './strings';

/** Redis stores a small hash in one block, which HSCAN returns at once. Limits: fields, and bytes of each name and each value. */
const MOST_IN_ONE_PIECE = 128;
const LONGEST_IN_ONE_PIECE = 64;

function fieldsOf({ db }: Context, args: readonly string[]): ReadonlyMap<string, string> {
  return db.read(at(args, 0), HashValue)?.fields ?? new Map<string, string>();
}

function setFields(name: string, { db }: Context, [key = '', ...pairs]: readonly string[]): number {
  if (pairs.length % 2 !== 0) throw wrongNumber(name);
  const { fields } = db.hash(key);
  const before = fields.size;
  for (let index = 0; index < pairs.length; index += 2) fields.set(at(pairs, index), at(pairs, index + 1));
  return fields.size - before;
}

function removeFields({ db }: Context, [key = '', ...names]: readonly string[]): Reply {
  const hash = db.change(key, HashValue);
  const removed = names.filter((name) => hash?.fields.delete(name)).length;
  db.removeIfEmpty(key);
  return removed;
}

export const hashCommands: CommandTable = {
  hdel: writes(-3, removeFields),
  hexists: reads(3, (context, args) => (fieldsOf(context, args).has(at(args, 1)) ? 1 : 0)),
  hget: reads(3, (context, args) => fieldsOf(context, args).get(at(args, 1)) ?? null),
  hgetall: reads(2, (context, args) => new Pairs([...fieldsOf(context, args)])),
  hincrby: writes(4, ({ db }, [key = '', field = '', by = '']) => {
    const amount = bigInteger(by);
    const current = db.read(key, HashValue)?.fields.get(field);
    const sum = increased(current, amount, 'ERR hash value is not an integer');
    db.hash(key).fields.set(field, String(sum));
    return replyInteger(sum);
  }),
  hincrbyfloat: writes(4, ({ db }, [key = '', field = '', by = '']) => {
    addDecimals('0', by, undefined, 'ERR value is NaN or Infinity');
    const current = db.read(key, HashValue)?.fields.get(field) ?? '0';
    const sum = addDecimals(current, by, 'ERR hash value is not a float');
    db.hash(key).fields.set(field, sum);
    return sum;
  }),
  hkeys: reads(2, (context, args) => [...fieldsOf(context, args).keys()]),
  hlen: reads(2, (context, args) => fieldsOf(context, args).size),
  hmget: reads(-3, (context, args) => {
    const fields = fieldsOf(context, args);
    return args.slice(1).map((name) => fields.get(name) ?? null);
  }),
  hmset: writes(-4, (context, args) => {
    setFields('hmset', context, args);
    return OK;
  }),
  hrandfield: reads(-2, (context, args) => {
    const { key, count, withValues } = randomOf(args, 'WITHVALUES');
    const { random } = context.db;
    const entries = [...fieldsOf(context, [key])];
    if (count === undefined) return random.choose(entries, 1)[0]?.[0] ?? null;
    const chosen = random.choose(entries, count);
    return withValues ? new Rows(chosen) : chosen.map(([name]) => name);
  }),
  hscan: reads(-3, (context, [key = '', ...options]) => {
    readCursor(options);
    const entries = [...fieldsOf(context, [key])];
    if (entries.length === 0) return ['0', []];
    const isSmall =
      entries.length <= MOST_IN_ONE_PIECE &&
      entries.every(([name, value]) => name.length <= LONGEST_IN_ONE_PIECE && value.length <= LONGEST_IN_ONE_PIECE);
    const { cursor, page, matches } = scan(entries, ([name]) => name, options, isSmall);
    return [cursor, page.filter(([name]) => matches(name)).flat()];
  }),
  hset: writes(-4, (context, args) => setFields('hset', context, args)),
  hsetnx: writes(4, ({ db }, [key = '', field = '', value = '']) => {
    const { fields } = db.hash(key);
    if (fields.has(field)) return 0;
    fields.set(field, value);
    return 1;
  }),
  hstrlen: reads(3, (context, args) => fieldsOf(context, args).get(at(args, 1))?.length ?? 0),
  hvals: reads(2, (context, args) => [...fieldsOf(context, args).values()]),
};
