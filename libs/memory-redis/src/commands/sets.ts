import { integer, parseInteger, positive } from '../numbers';
import { Members, refuse, SYNTAX_ERROR, type Reply } from '../reply';
import { readCursor, scan } from '../scan';
import { SetValue } from '../values';
import { at, isWord, reads, writes, type Command, type CommandTable, type Context } from './command';

/** Redis stores a set of at most this many integers as a sorted list, which SSCAN returns at once. */
const MOST_INTEGERS = 512;

function membersOf({ db }: Context, key: string): ReadonlySet<string> {
  return db.read(key, SetValue)?.members ?? new Set<string>();
}

function isIntegers(members: ReadonlySet<string>): boolean {
  return members.size <= MOST_INTEGERS && [...members].every((member) => parseInteger(member) !== undefined);
}

/**
 * Returns the members in the order in which Redis returns them: a small set of integers is sorted; other members come in the order in which
 * they were added.
 */
function sorted(members: ReadonlySet<string>): string[] {
  if (!isIntegers(members)) return [...members];
  return [...members].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
}

function random({ db }: Context, key: string, text: string | undefined, removes: boolean): Reply {
  const wanted = text === undefined ? 1 : removes ? positive(text) : integer(text);
  const members = sorted(db.read(key, SetValue)?.members ?? new Set());
  // A negative number asks SRANDMEMBER for so many members, of which several may be the same.
  if (wanted < 0 && members.length === 0) return [];
  if (wanted < 0) return Array.from({ length: -wanted }, () => members[db.random.below(members.length)] as string);
  const taken: string[] = [];
  while (taken.length < wanted && members.length > 0) {
    taken.push(...members.splice(db.random.below(members.length), 1));
  }
  if (removes && taken.length > 0) {
    const set = db.members(key);
    for (const member of taken) set.members.delete(member);
    db.removeIfEmpty(key);
  }
  if (text === undefined) return taken[0] ?? null;
  return removes ? new Members(taken) : taken;
}

type Choose = (first: ReadonlySet<string>, others: readonly ReadonlySet<string>[]) => Set<string>;

const difference: Choose = (first, others) => new Set([...first].filter((one) => !others.some((set) => set.has(one))));
const intersection: Choose = (first, others) =>
  new Set([...first].filter((one) => others.every((set) => set.has(one))));
const union: Choose = (first, others) => new Set([...first, ...others.flatMap((set) => [...set])]);

function combined(context: Context, choose: Choose, keys: readonly string[]): Set<string> {
  const [first = new Set<string>(), ...others] = keys.map((key) => membersOf(context, key));
  return choose(first, others);
}

function replied(choose: Choose): Command {
  return reads(-2, (context, keys) => new Members(sorted(combined(context, choose, keys))));
}

function stored(choose: Choose): Command {
  return writes(-3, (context, [storeAt = '', ...keys]) => {
    const members = combined(context, choose, keys);
    if (members.size === 0) context.db.delete(storeAt);
    else context.db.add(storeAt, new SetValue(members));
    return members.size;
  });
}

export const setCommands: CommandTable = {
  sadd: writes(-3, ({ db }, [key = '', ...added]) => {
    const { members } = db.members(key);
    const before = members.size;
    for (const member of added) members.add(member);
    return members.size - before;
  }),
  scard: reads(2, (context, args) => membersOf(context, at(args, 0)).size),
  sdiff: replied(difference),
  sdiffstore: stored(difference),
  sinter: replied(intersection),
  sintercard: reads(-3, (context, args) => {
    const ERROR = 'ERR numkeys should be greater than 0';
    const count = positive(at(args, 0), ERROR) || refuse(ERROR);
    if (count > args.length - 1) refuse("ERR Number of keys can't be greater than number of args");
    let limit = 0;
    for (let index = 1 + count; index < args.length; index += 2) {
      if (!isWord(args[index], 'LIMIT') || index + 1 >= args.length) refuse(SYNTAX_ERROR);
      limit = positive(at(args, index + 1), "ERR LIMIT can't be negative");
    }
    const { size } = combined(context, intersection, args.slice(1, 1 + count));
    return limit === 0 ? size : Math.min(limit, size);
  }),
  sinterstore: stored(intersection),
  sismember: reads(3, (context, args) => (membersOf(context, at(args, 0)).has(at(args, 1)) ? 1 : 0)),
  smembers: reads(2, (context, args) => new Members(sorted(membersOf(context, at(args, 0))))),
  smismember: reads(-3, (context, [key = '', ...asked]) => {
    const members = membersOf(context, key);
    return asked.map((member) => (members.has(member) ? 1 : 0));
  }),
  smove: writes(4, ({ db }, [from = '', to = '', member = '']) => {
    const source = db.read(from, SetValue);
    if (source === undefined) return 0;
    db.read(to, SetValue);
    if (!source.members.has(member)) return 0;
    db.members(from).members.delete(member);
    db.removeIfEmpty(from);
    db.members(to).members.add(member);
    return 1;
  }),
  spop: writes(-2, (context, args) => {
    if (args.length > 2) refuse(SYNTAX_ERROR);
    return random(context, at(args, 0), args[1], true);
  }),
  srandmember: reads(-2, (context, args) => {
    if (args.length > 2) refuse(SYNTAX_ERROR);
    return random(context, at(args, 0), args[1], false);
  }),
  srem: writes(-3, ({ db }, [key = '', ...removed]) => {
    const set = db.change(key, SetValue);
    const count = removed.filter((member) => set?.members.delete(member)).length;
    db.removeIfEmpty(key);
    return count;
  }),
  sscan: reads(-3, (context, [key = '', ...options]) => {
    readCursor(options);
    const members = membersOf(context, key);
    if (members.size === 0) return ['0', []];
    const { cursor, page, matches } = scan(sorted(members), (member) => member, options, isIntegers(members));
    return [cursor, page.filter((member) => matches(member))];
  }),
  sunion: replied(union),
  sunionstore: stored(union),
};
